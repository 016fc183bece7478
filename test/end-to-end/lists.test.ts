import assert from 'node:assert/strict'
import process from 'node:process'
import { after, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { ownWorkspace } from '../support/own-workspace.ts'
import { seeded } from '../support/property-seed.ts'
import type { Answer } from '../support/service.ts'
import { sharedService } from '../support/shared-service.ts'
import { untilIndexed } from '../support/until-indexed.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const UNKNOWN = '21e220a7-39de-8ea2-adec-1b9ebe43cbbd'
const rowsOf = (value: unknown) => value as Readonly<Record<string, string>>[]

const service = await sharedService()
after(() => service.stop())

describe('lists over HTTP', () => {
  const get = (path: string, token: string): Promise<Answer> => service.get(`/api/v1${path}`, { token })
  /** Reads all pages of a list of feedback, and returns the ids. */
  const walk = async (query: string, token: string): Promise<string[]> => {
    const found: string[] = []
    for (let next: string | null = ''; next !== null;) {
      const answer = await get(`/feedbacks?${query}${next && `&next=${next}`}`, token)
      assert.equal(answer.status, 200, answer.text)
      found.push(...rowsOf(answer.body.feedbacks).map(({ id }) => id!))
      next = answer.body.next
    }
    return found
  }

  it('each filter, order and size of page gives what a plain SELECT gives', async () => {
    const own = await ownWorkspace({ sql: service.all, urls: service.urls })
    const token = own.adminToken
    const items = Array.from({ length: 120 }, (_, at) => ({
      operation: 'create_feedback',
      body: {
        description: at % 3 === 0 ? `Der EXPORT dauert, Größe ${at}` : `Login ${at}`,
        title: at % 4 === 0 ? 'Größe' : null,
        source: ['Help', 'Store'][at % 2],
        tags: [['speed'], ['speed', 'export'], []][at % 3],
        rating: at % 6 === 5 ? null : at % 6,
        createdAt: `2026-01-${String(1 + (at % 5)).padStart(2, '0')}T00:00:00Z`,
        contact: { email: `p${at % 7}@example.org` },
        account: at % 4 > 0 ? { name: `A${at % 3}` } : null,
        project: { name: `P${at % 2}` },
      },
    }))
    const people = Array.from({ length: 5 }, (_, at) => ({
      operation: 'identify_contact',
      body: {
        id: `p${at}`,
        properties: { $email: `p${at}@example.org` },
        account: { id: `a${at % 2}`, properties: { $name: `A${at % 2}`, $domain: `a${at % 2}.example` } },
      },
    }))
    await own.submitAll([...people, ...items])
    await untilIndexed(service.all, own.workspaceId)
    /** Searches, and the feedback that they find as SQL. */
    const searches: Readonly<Record<string, string>> = {
      exporte: `description like 'Der EXPORT %'`,
      'GRÖßE export': `description like 'Der EXPORT %'`,
      größe: `(description like 'Der EXPORT %' or title = 'Größe')`,
      'login 1': `description = 'Login 1'`,
      '"dauert größe"': `description like 'Der EXPORT %'`,
      'nowhere or login': `description like 'Login %'`,
      nowhere: 'false',
    }
    const ids = async (table: string): Promise<string[]> => {
      const rows = await service.all<{ id: string }[]>`
        select id from ${service.all(table)} where workspace_id = ${own.workspaceId} order by id`
      return rows.map(({ id }) => id)
    }
    const oneOf = (values: readonly string[]) => fc.constantFrom(...values)
    const [customers, accounts, projects] = [await ids('contact'), await ids('account'), await ids('project')]
    const filters = fc.record(
      {
        source: oneOf(['Help', 'Store', 'Nothing']),
        tag: fc.subarray(['speed', 'export'], { minLength: 1 }),
        customerId: oneOf([...customers, UNKNOWN]),
        accountId: oneOf(accounts),
        projectId: oneOf(projects),
        ratingMin: oneOf(['0', '2', '2.5']),
        ratingMax: oneOf(['1', '4']),
        createdFrom: oneOf(['2026-01-02T00:00:00Z', '2026-01-03T02:00:00+02:00']),
        createdTo: oneOf(['2026-01-04T00:00:00Z']),
        q: oneOf(Object.keys(searches)),
        order: oneOf(['newest', 'oldest']),
      },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(filters, fc.integer({ min: 1, max: 60 }), async (given, limit) => {
        const query = new URLSearchParams(
          Object.entries(given).flatMap(([name, value]) => [value].flat().map((each) => [name, each])),
        )
        const listed = await walk(`${query}&limit=${limit}`, token)
        const { source, tag, customerId, accountId, projectId, ratingMin, ratingMax, createdFrom, createdTo, q } = given
        const rows = await service.all<{ id: string }[]>`
          select f.id from feedback as f
          left join contact as c on c.workspace_id = f.workspace_id and c.id = f.contact_id
          where f.workspace_id = ${own.workspaceId}
            and (${source ?? null}::text is null or source = ${source ?? null})
            and (${tag ?? null}::text[] is null or tags @> ${tag ?? null}::text[])
            and (${customerId ?? null}::uuid is null or f.contact_id = ${customerId ?? null}::uuid)
            and (${accountId ?? null}::uuid is null or coalesce(f.account_id, c.account_id) = ${accountId ?? null}::uuid)
            and (${projectId ?? null}::uuid is null or project_id = ${projectId ?? null}::uuid)
            and (${ratingMin ?? null}::float8 is null or rating >= ${ratingMin ?? null}::float8)
            and (${ratingMax ?? null}::float8 is null or rating <= ${ratingMax ?? null}::float8)
            and (${createdFrom ?? null}::timestamptz is null or f.created_at >= ${createdFrom ?? null}::timestamptz)
            and (${createdTo ?? null}::timestamptz is null or f.created_at < ${createdTo ?? null}::timestamptz)
            and ${service.all.unsafe(q === undefined ? 'true' : searches[q]!)}
          order by f.created_at desc, f.id desc`
        const expected = rows.map(({ id }) => id)
        assert.deepEqual(listed, given.order === 'oldest' ? expected.toReversed() : expected)
      }),
      seeded({ numRuns: LONG ? 60 : 25 }),
    )
    for (const path of ['customers', 'accounts', 'projects']) {
      const answer = await get(`/${path}?limit=500`, token)
      const table = { customers: 'contact', accounts: 'account', projects: 'project' }[path]!
      const found = rowsOf(answer.body[path]).map(({ id }) => id!)
      assert.deepEqual(found.toSorted(), await ids(table))
    }
  })

  it('a contact or account keeps its place in a walk when it absorbs another one', async () => {
    for (const order of ['newest', 'oldest']) {
      const own = await ownWorkspace({ sql: service.all, urls: service.urls })
      const listed = async (path: string, next: string | null): Promise<Answer['body']> =>
        (await get(`/${path}?order=${order}&limit=2${next && `&next=${next}`}`, own.readToken)).body
      // The absorbed records are the oldest, and their absorbers the newest, or nearly so.
      await own.submit('/feedbacks', { description: 'x', contact: { email: 'a@example.org' }, account: { name: 'A' } })
      for (const id of ['1', '2', '3', '4', '5']) {
        await own.submit('/contacts/identify', { id })
        await own.submit('/accounts/identify', { id, properties: { $name: id, $domain: `${id}.example` } })
      }
      const walks = { customers: [] as string[], accounts: [] as string[] }
      const merge = {
        customers: () => own.submit('/contacts/identify', { id: '4', properties: { $email: 'a@example.org' } }),
        accounts: () => own.submit('/accounts/identify', { id: '4', properties: { $name: 'A', $domain: '4.example' } }),
      }
      for (const path of ['customers', 'accounts'] as const) {
        for (let next: string | null = ''; next !== null;) {
          const page = await listed(path, next)
          walks[path].push(...rowsOf(page[path]).map(({ externalIds }) => JSON.stringify(externalIds)))
          if (next === '') await merge[path]()
          next = page.next
        }
        const identified = walks[path].filter((externalIds) => externalIds !== '[]')
        const expected = ['1', '2', '3', '4', '5'].map((id) => JSON.stringify([{ source: 'API', id }]))
        assert.deepEqual(identified, order === 'oldest' ? expected : expected.toReversed(), path)
      }
    }
  })

  it('a walk through the feedback of a contact or account has each one once while another one absorbs it', async () => {
    const own = await ownWorkspace({ sql: service.all, urls: service.urls })
    const [email, name] = ['many@example.org', 'Many']
    const FEEDBACK = 2_500
    await own.submitAll(
      Array.from({ length: FEEDBACK }, (_, at) => ({
        operation: 'create_feedback',
        body: { description: `${at}`, contact: { email }, account: { name } },
      })),
    )
    await own.submit('/contacts/identify', { id: 'absorber' })
    const [{ contact, account }] = await service.all<[{ contact: string; account: string }]>`
      select contact_id as contact, account_id as account from feedback where workspace_id = ${own.workspaceId} limit 1`
    const merges = {
      [`customerId=${contact}`]: () =>
        own.post('/contacts/identify', { id: 'absorber', properties: { $email: email } }),
      [`accountId=${account}`]: () =>
        own.post('/accounts/identify', { id: 'absorber', properties: { $name: name, $domain: 'many.example' } }),
    }
    for (const [filter, merge] of Object.entries(merges)) {
      let merging: Promise<Answer> | undefined
      const found: string[] = []
      for (let next: string | null = ''; next !== null;) {
        const { body, text } = await get(`/feedbacks?${filter}&limit=100${next && `&next=${next}`}`, own.readToken)
        assert.ok(body.feedbacks, text)
        found.push(...rowsOf(body.feedbacks).map(({ id }) => id!))
        merging ??= merge()
        next = body.next
      }
      assert.equal(await own.settled(await merging!), 'applied')
      assert.deepEqual([found.length, new Set(found).size], [FEEDBACK, FEEDBACK], filter)
    }
  })

  it('while records come and go, a walk through a list repeats no record, and skips no record that stays', async () => {
    const own = await ownWorkspace({ sql: service.all, urls: service.urls })
    const token = own.adminToken
    const emailOf = (at: number): string => `p${at % 40}@example.org`
    const feedback = (at: number) => ({
      description: `Feedback ${at}`,
      source: ['Help', 'Store'][at % 2],
      createdAt: `2026-01-${String(1 + ((at * 7) % 28)).padStart(2, '0')}T00:00:00Z`,
      contact: { email: emailOf(at) },
    })
    const items = Array.from({ length: 200 }, (_, at) => ({ operation: 'create_feedback', body: feedback(at) }))
    await own.submitAll(items)
    const ids = async (source: string): Promise<string[]> => {
      const rows = await service.all<{ id: string }[]>`
        select id from feedback where workspace_id = ${own.workspaceId} and source = ${source}`
      return rows.map(({ id }) => id)
    }
    const over = new AbortController()
    const comeAndGo = async (): Promise<void> => {
      for (let at = items.length; !over.signal.aborted; at++) {
        await own.submit('/feedbacks', feedback(at))
        if (at % 5 === 0) await own.post('/contacts/purge', { email: emailOf(at * 3) }, { token })
      }
    }
    const changing = comeAndGo()
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom('Help', 'Store'),
          fc.constantFrom('newest', 'oldest'),
          fc.integer({ min: 1, max: 40 }),
          async (source, order, limit) => {
            const atFirst = await ids(source)
            const found = await walk(`source=${source}&order=${order}&limit=${limit}`, token)
            const atLast = new Set(await ids(source))
            assert.equal(new Set(found).size, found.length)
            assert.deepEqual(
              atFirst.filter((id) => atLast.has(id) && !found.includes(id)),
              [],
            )
          },
        ),
        seeded({ numRuns: LONG ? 25 : 10 }),
      )
    } finally {
      over.abort()
      await changing
    }
  })
})
