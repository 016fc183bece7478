import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type OwnWorkspace, ownWorkspace } from '../support/own-workspace.ts'
import type { Answer } from '../support/service.ts'
import { sharedService } from '../support/shared-service.ts'

const service = await sharedService()
after(() => service.stop())

type Count = Readonly<Record<string, string | number | null>>
const countsOf = ({ body }: Answer): Count[] => body.counts as Count[]

describe('counts over HTTP', () => {
  let own: OwnWorkspace
  before(async () => {
    own = await ownWorkspace({ sql: service.all, urls: service.urls })
    // 21 ratings of each source: the first one shows a scale of 0 to 10, the others 1 to 5.
    const items = ['Calls', 'Mails', 'Shop'].flatMap((source, of) =>
      Array.from({ length: 21 }, (_, at) => ({
        operation: 'create_feedback',
        body: {
          description: 'x',
          source,
          tags: [['speed'], ['speed', 'export'], []][at % 3],
          rating: of === 0 ? at % 11 : 1 + (at % 5),
          createdAt: `2026-0${1 + (at % 2)}-10T00:00:00Z`,
          account: { name: `A${at % 2}` },
        },
      })),
    )
    await own.submitAll(items)
  })
  const count = async (query: string): Promise<Answer> => {
    const answer = await service.get(`/api/v1/counts?${query}`, { token: own.readToken })
    assert.equal(answer.status, 200, answer.text)
    return answer
  }

  it('have the figures of each group, and of everything', async () => {
    const answer = await count('by=source')
    assert.deepEqual(answer.body.total['feedback'], 63)
    assert.equal(answer.body.next, null)
    const [row] = await service.all`
      select round(avg(satisfaction)::numeric, 4)::float8 as satisfaction,
        round((count(*) filter (where satisfaction <= 0.4))::numeric / count(*), 4)::float8 as bad
      from feedback_view where workspace_id = ${own.workspaceId} and source = 'Calls'`
    assert.deepEqual(countsOf(answer)[0], { source: 'Calls', feedback: 21, rated: 21, ...row })
    assert.ok(Number(countsOf(answer)[0]!['satisfaction']) < 0.5)
  })

  it('go by two things, with the names of accounts', async () => {
    const answer = await count('by=account,month&order=key')
    assert.deepEqual(
      countsOf(answer)
        .map(({ accountName, month, feedback }) => [String(accountName), month, feedback])
        .toSorted(([one], [other]) => (one! < other! ? -1 : 1)),
      [
        ['A0', '2026-01', 33],
        ['A1', '2026-02', 30],
      ],
    )
    const [row] = await service.all<{ id: string }[]>`
      select id from account where workspace_id = ${own.workspaceId} and name = 'A0'`
    assert.ok(countsOf(answer).some(({ account }) => account === row!.id))
  })

  it('of satisfactionMax have the feedback that a list with it has', async () => {
    const { body } = await count('by=source&satisfactionMax=0.4')
    const listed = await service.get('/api/v1/feedbacks?satisfactionMax=0.4&limit=500', { token: own.readToken })
    const [{ bad }] = await service.all<[{ bad: number }]>`
      select count(*)::int as bad from feedback_view where workspace_id = ${own.workspaceId} and satisfaction <= 0.4`
    assert.ok(bad > 0 && bad < 63)
    assert.deepEqual([body.total['feedback'], (listed.body.feedbacks as unknown as unknown[]).length], [bad, bad])
  })

  it('come page by page, and a cursor belongs to its filters, order and dimensions', async () => {
    const query = 'by=source,tag&order=bad&limit=2'
    const pages: Count[] = []
    for (let next: string | null = ''; next !== null;) {
      const answer = await count(`${query}${next && `&next=${next}`}`)
      pages.push(...countsOf(answer))
      next = answer.body.next
    }
    assert.deepEqual(pages, countsOf(await count('by=source,tag&order=bad')))
    assert.equal(pages.length, 9)
    const { next } = (await count(query)).body
    for (const other of ['by=source,tag&order=bad&source=Shop', 'by=source,tag&limit=2', 'by=tag,source&order=bad']) {
      const { status, body } = await service.get(`/api/v1/counts?${other}&next=${next}`, { token: own.readToken })
      assert.deepEqual([status, (body.error as unknown as { path: string }[])[0]?.path], [400, 'next'], other)
    }
  })

  it('of an account that was merged are those of its absorber', async () => {
    const [{ id }] = await service.all<[{ id: string }]>`
      select id from account where workspace_id = ${own.workspaceId} and name = 'A1'`
    const properties = { $name: 'A1', $domain: 'a1.example' }
    await own.submit('/accounts/identify', { id: 'a1', properties })
    const { account } = (await service.get(`/api/v1/accounts/${id}`, { token: own.readToken })).body
    assert.notEqual(account.id, id)
    const answer = await count(`by=account&accountId=${id}`)
    assert.deepEqual(
      countsOf(answer).map(({ account: of, feedback }) => [of, feedback]),
      [[account.id, 30]],
    )
  })

  it('are refused without something known to count by', async () => {
    for (const [query, path] of [
      ['', 'by'],
      ['by=', 'by'],
      ['by=colour', 'by'],
      ['by=tag,tag', 'by'],
      ['by=tag,source,month', 'by'],
      ['by=tag&by=source', 'by'],
      ['by=tag&order=newest', 'order'],
      ['by=tag&satisfactionMax=low', 'satisfactionMax'],
      ['by=tag&colour=red', 'colour'],
    ] as const) {
      const { status, body } = await service.get(`/api/v1/counts?${query}`, { token: own.readToken })
      assert.equal(status, 400, query)
      assert.deepEqual(
        (body.error as unknown as { path: string }[]).map((problem) => problem.path),
        [path],
        query,
      )
    }
    assert.equal((await service.get('/api/v1/counts?by=tag', { token: own.accessToken })).status, 403)
  })
})
