import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, it } from 'node:test'
import { contactSourceKey, ownId } from '../../../contract/identity/keys.ts'
import type { Submission } from '../../../contract/submission.ts'
import { createSharedStrideStore, createStrideStore } from '../../../db/apply/stride-store.ts'
import { applyStride } from '../../../worker/apply/apply-stride.ts'
import { giveUp } from '../../../worker/apply/apply-safely.ts'
import { applyStrides } from '../../support/apply-strides.ts'
import { nothingDone, type StrideOutcome } from '../../../worker/apply/stride-outcome.ts'
import { hashKey, makeWorkspaces, sharedSchema } from '../../support/schema.ts'
import { parsed } from '../../model/submission-arbitrary.ts'

const { sql } = await sharedSchema()
const FIRST = 1_000_000

describe('applying a stride', () => {
  let workspaceId: string
  beforeEach(async () => {
    workspaceId = randomUUID()
    await makeWorkspaces(sql, [workspaceId])
  })

  const realm = () => ({ hashKey, workspaceId })
  const apply = async (submissions: readonly Submission[], position = 0): Promise<StrideOutcome> =>
    (await applyStrides({ sql, hashKey }, [{ workspaceId, after: position, submissions }])).get(workspaceId)!
  const applied = async (submissions: readonly Submission[], position = 0) => {
    const result = await apply(submissions, position)
    assert.ok(result.end === 'applied')
    return result
  }
  const given = (bodies: Parameters<typeof submissionsOf>[2], number = FIRST) =>
    submissionsOf(workspaceId, number, bodies)
  const feedback = (body: object, more: object = {}) =>
    ({ operation: 'create_feedback', body: { description: 'slow', ...body }, ...more }) as const
  const contact = (body: object, more: object = {}) => ({ operation: 'identify_contact', body, ...more }) as const

  it('reports a workspace without a position as deleted', async () => {
    await sql`delete from workspace_progress where workspace_id = ${workspaceId}`
    assert.deepEqual(await apply(given([contact({ id: '1' })])), { ...nothingDone(), end: 'deleted' })
    assert.equal((await sql`select from contact where workspace_id = ${workspaceId}`).length, 0)
  })

  it('reports the position of Postgres after Postgres has lost its last commits', async () => {
    assert.deepEqual(await apply(given([contact({ id: '1' })]), FIRST - 1), {
      ...nothingDone(),
      end: 'behind',
      position: 0,
    })
  })

  it('is behind if Postgres loses its commits in the middle of a stride, and skips no submission', async () => {
    const submissions = given([
      contact({ id: '1' }),
      { operation: 'purge_contact', body: { id: 'stranger' } },
      contact({ id: '2' }),
    ])
    const own = createStrideStore(sql)
    let loads = 0
    const store = {
      ...own,
      load: async (...asked: Parameters<typeof own.load>) => {
        loads += 1
        // The third load comes after the contact and the purge.
        if (loads === 3)
          await sql`update workspace_progress set applied_number = ${FIRST} where workspace_id = ${workspaceId}`
        return own.load(...asked)
      },
    }
    const stores = { sql, hashKey, store, purgedWorkspaces: new Set<string>() }
    const outcome = await applyStride(stores, { workspaceId, after: 0, submissions }, { isShared: false })
    assert.ok(outcome.end === 'behind')
    assert.equal(outcome.position, FIRST)
    assert.equal((await sql`select from contact where workspace_id = ${workspaceId}`).length, 1)
  })

  it('leaves records to move or to remove to the backlog, where other workspaces do not wait', async () => {
    await applied(given([contact({ id: '1' }), feedback({ isExternalContactId: true, contactId: '1' })]))
    await applied(given([{ operation: 'purge_contact', body: { id: '1' } }], FIRST + 2), FIRST + 1)
    const later = { workspaceId, after: FIRST + 2, submissions: given([contact({ id: '2' })], FIRST + 3) }
    const stores = { sql, hashKey, store: createSharedStrideStore(sql), purgedWorkspaces: new Set<string>() }
    assert.equal((await applyStride(stores, later, { isShared: true })).end, 'backlog')
    await sql`update purge set records_removed = true where workspace_id = ${workspaceId}`
    await sql`
      insert into pending_move (workspace_id, kind, old_id, new_id)
      values (${workspaceId}, 'c', ${randomUUID()}, ${randomUUID()})`
    assert.equal((await applyStride(stores, later, { isShared: true })).end, 'backlog')
    assert.equal((await applyStride(stores, later, { isShared: false })).end, 'applied')
    assert.equal((await sql`select from pending_move where workspace_id = ${workspaceId}`).length, 0)
  })

  it('distinguishes submissions that it applied from submissions that were already applied', async () => {
    const submissions = given([contact({ id: '1' }), contact({ id: '2' }), contact({ id: '3' })])
    await applied(submissions.slice(0, 2))
    const result = await applied(submissions)
    assert.deepEqual(result.found, submissions.slice(0, 2))
    assert.deepEqual(result.applied, [{ submission: submissions[2]!, state: 'applied' }])
    assert.equal(result.position, FIRST + 2)
  })

  it('decides each purge in its place, and reports the purges that matched', async () => {
    const submissions = given([
      contact({ id: '1' }),
      { operation: 'purge_contact', body: { id: '1' } },
      contact({ id: '1' }),
      { operation: 'purge_contact', body: { id: 'stranger' } },
      contact({ id: '2' }),
    ])
    const result = await applied(submissions)
    assert.deepEqual(result.decided, [submissions[1]])
    assert.deepEqual(
      result.applied.map(({ submission }) => submission),
      [submissions[0], submissions[2], submissions[3], submissions[4]],
    )
    const [held] = await sql`select id from contact where workspace_id = ${workspaceId} and first_number = ${FIRST + 2}`
    assert.notEqual(held!['id'], contactSourceKey(realm(), 'API', '1'), 'a purged id is never given again')
  })

  it('gives a category a new change position if shorter strides would have removed it for a moment', async () => {
    const category = async () => {
      const [row] = await sql<{ createdAt: Date; position: string }[]>`
        select created_at as "createdAt", change_position as position from feedback_category
        where workspace_id = ${workspaceId} and title = 'speed'`
      return { createdAt: row!.createdAt, position: Number(row!.position) }
    }
    await applied(given([feedback({ sourceId: '1', tags: ['speed'] })]))
    const before = await category()
    await applied(
      given([feedback({ sourceId: '1', tags: [] }), feedback({ sourceId: '2', tags: ['speed'] })], FIRST + 1),
    )
    const after = await category()
    assert.ok(after.position > before.position)
    assert.deepEqual(after.createdAt, before.createdAt, 'its place in lists stays')
    await applied(given([feedback({ sourceId: '3', tags: ['speed'] })], FIRST + 3))
    assert.deepEqual(await category(), after, 'a further use does not change it')
  })

  it('decides many purges in a row', async () => {
    const purges = given(
      Array.from({ length: 150 }, () => ({ operation: 'purge_contact', body: { id: '1' } }) as const),
    )
    const { applied: unmatched, position } = await applied(purges)
    assert.deepEqual([unmatched.length, position], [150, FIRST + 149])
  })

  it('decides once a purge that was appended twice after a failover', async () => {
    const lost = {
      operation: 'purge_contact',
      body: { id: '1' },
      submissionId: randomUUID(),
      originalNumber: 5,
    } as const
    const submissions = given([contact({ id: '1' }), lost, lost])
    const result = await applied(submissions)
    assert.deepEqual([result.decided, result.found], [[submissions[1]], [submissions[2]]])
    const [receipt] =
      await sql`select state from submission where workspace_id = ${workspaceId} and id = ${lost.submissionId}`
    assert.equal(receipt!['state'], 'queued', 'its records are not removed yet')
  })

  it('applies once a submission that was appended twice after a failover', async () => {
    const lost = () => ({ submissionId: randomUUID(), originalNumber: 5 })
    const once = [
      feedback({ sourceId: 'F-1', source: 'desk' }, lost()),
      contact({ id: '1' }, lost()),
      { operation: 'identify_account', body: { id: 'a' }, ...lost() },
      { operation: 'submit_conversation', body: conversation('C-1'), ...lost() },
    ] as const
    const submissions = given([...once, ...once])
    const result = await applied(submissions)
    assert.deepEqual(
      result.applied,
      submissions.slice(0, 4).map((submission) => ({ submission, state: 'applied' })),
    )
    assert.deepEqual([result.found, result.position], [submissions.slice(4), FIRST + 7])
    const [progress] = await sql`select applied from workspace_progress where workspace_id = ${workspaceId}`
    assert.equal(Number(progress!['applied']), 4)
  })

  for (const order of ['older', 'newer'])
    it(`keeps the newer of two lost submissions of a record, if the ${order} one is appended again first`, async () => {
      const lost = (title: string, originalNumber: number) => {
        const again = () => ({ submissionId: randomUUID(), originalNumber })
        const said = { id: 'm', incoming: true, content: title, createdAt: '2026-01-01T00:00:00Z' }
        return [
          feedback({ sourceId: 'F-1', source: 'desk', title }, again()),
          contact({ id: '1', properties: { $name: title } }, again()),
          {
            operation: 'identify_account',
            body: { id: 'a', properties: { $name: title, $domain: 'a.example' } },
            ...again(),
          },
          { operation: 'submit_conversation', body: { ...conversation('C-1'), title, messages: [said] }, ...again() },
        ] as const
      }
      const strides = [lost('older', 5), lost('newer', 9)]
      for (const [at, bodies] of (order === 'older' ? strides : strides.toReversed()).entries())
        await applied(given(bodies, FIRST + at * 10), at === 0 ? 0 : FIRST + 3)
      const rows = await sql<{ shown: string }[]>`
        select title as shown from feedback where workspace_id = ${workspaceId}
        union all select name from contact where workspace_id = ${workspaceId}
        union all select name from account where workspace_id = ${workspaceId}
        union all select title from conversation where workspace_id = ${workspaceId}
        union all select content from message where workspace_id = ${workspaceId}`
      assert.deepEqual(
        rows.map(({ shown }) => shown),
        Array.from({ length: 5 }, () => 'newer'),
      )
    })

  it('does not end a submission as dead if another writer applies it first', async () => {
    const submissions = given([feedback({})])
    const sqlOfLateWriter = new Proxy(sql, {
      apply: async (target, self, query: [TemplateStringsArray, ...unknown[]]) => {
        if (query[0].join('').includes('set_aside')) await applied(submissions)
        return Reflect.apply<unknown, unknown[], unknown>(target, self, query)
      },
    })
    const [events, settled]: [string[], Submission[]] = [[], []]
    const dependencies = {
      sql: sqlOfLateWriter,
      hashKey,
      purgedWorkspaces: new Set<string>(),
      log: (_level: string, event: string) => void events.push(event),
      answerWithinMs: 60_000,
      onSettled: (submission: Submission) => void settled.push(submission),
      sharedStore: createSharedStrideStore(sql),
      attempts: new Map(),
    }
    const stride = { workspaceId, after: 0, submissions }
    const result = await giveUp(dependencies, stride, { attempts: 3, reason: 'GivenUp stalled' })
    assert.deepEqual(result, { ...nothingDone(), end: 'applied', position: FIRST, found: submissions })
    assert.deepEqual([events, settled], [[], []])
    const [receipt] = await sql`select state from submission where workspace_id = ${workspaceId}`
    assert.equal(receipt!['state'], 'applied')
  })

  it('fills metadata of contacts that are too large to be loaded together', async () => {
    const large = 'x'.repeat(10_000)
    const properties = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`k${at}`, large]))
    const people = ['ann', 'bob', 'eve'].map((name) => `${name}@example.org`)
    await applied(
      given(people.map((email, at) => contact({ id: `c${at}`, properties: { ...properties, $email: email } }))),
    )
    const more = people.flatMap((email) => [
      feedback({ contact: { email, sourceData: { k0: 'other', plan: 'pro' } } }),
      feedback({ contact: { email, sourceData: { plan: 'free' } } }),
    ])
    await applied(given(more, FIRST + 10), FIRST + 2)
    const rows = await sql<{ k0: string; plan: string }[]>`
      select properties ->> 'k0' as k0, properties ->> 'plan' as plan from contact where workspace_id = ${workspaceId}`
    assert.deepEqual(
      [...rows],
      people.map(() => ({ k0: large, plan: 'pro' })),
    )
  })

  it('stores the contact, feedback or conversation of a submission in its receipt if it has an idempotency key', async () => {
    const idempotency = () => ({ idempotency: { key: randomUUID(), body: 'hash' } })
    const submissions = given([
      contact({ id: '1' }, idempotency()),
      feedback({ isExternalContactId: true, contactId: '1' }, idempotency()),
      feedback({ isExternalContactId: true, contactId: 'later' }, idempotency()),
      { operation: 'submit_conversation', body: conversation('C-1'), ...idempotency() },
      { operation: 'identify_account', body: { id: 'a' }, ...idempotency() },
      contact({ id: '2' }),
    ])
    await applied(submissions)
    const rows = await sql<{ subject_id: string | null; idempotency_key: string | null }[]>`
      select subject_id, idempotency_key from submission where workspace_id = ${workspaceId} order by acceptance_number`
    const subjects = [
      contactSourceKey(realm(), 'API', '1'),
      ...submissions.slice(1, 3).map(({ submissionId }) => submissionId),
      ownId(realm(), 'conversation', 'desk', 'C-1'),
      null,
      null,
    ]
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      subjects.map((subject, at) => ({
        subject_id: subject,
        idempotency_key: submissions[at]!.idempotency?.key ?? null,
      })),
    )
  })
})

const conversation = (id: string) => ({
  id,
  source: 'desk',
  createdAt: '2026-01-01T00:00:00Z',
  contacts: [],
  messages: [],
})

type Given = Pick<Submission, 'operation' | 'idempotency'> & { body: unknown }

/** Submissions of one workspace with consecutive numbers and validated bodies. */
const submissionsOf = (workspaceId: string, firstNumber: number, given: readonly Given[]): Submission[] =>
  given.map((members, at) => parsed({ workspaceId, submissionId: randomUUID(), number: firstNumber + at, ...members }))
