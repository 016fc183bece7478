import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import * as v from 'valibot'
import { keysOf, namesIn } from '../../../contract/identity/names.ts'
import { JOB_VERSION, type JobOf, type Operation, submissionJob, type SubmissionJob } from '../../../contract/job.ts'
import { IDEMPOTENCY_SECONDS } from '../../../contract/limits.ts'
import { beginDeletion, deleteOwnedRows } from '../../../db/delete-workspace.ts'
import { findPurge, purgeRow, removePurged, settlePurge } from '../../../db/purges/purge.ts'
import { type IdempotencyRow, type Rows, store } from '../../../db/store.ts'
import { markReplayed, setAside } from '../../../db/submissions/dead.ts'
import {
  expireIdempotencyKeys,
  findIdempotencyKeys,
  freeKeys,
  keysToFree,
} from '../../../db/submissions/idempotency-keys.ts'
import { hashKey, toRows } from '../../support/deliveries.ts'
import { freshSchema, type TestSchema } from '../../support/schema.ts'
import { clearTables } from '../../support/tables.ts'

const [OURS, THEIRS]: [string, string] = [randomUUID(), randomUUID()]
/** From so many on, keys of a batch are inserted without looking whether they are there. */
const MANY = 20
const LIFETIME = IDEMPOTENCY_SECONDS * 1_000_000

let lastNumber = Date.now() * 1_000
const jobOf = <O extends Operation>(operation: O, body: object, at: Partial<SubmissionJob> = {}): JobOf<O> =>
  v.parse(submissionJob, {
    version: JOB_VERSION,
    workspaceId: OURS,
    submissionId: randomUUID(),
    number: ++lastNumber,
    ...at,
    operation,
    body,
  }) as JobOf<O>
const feedbackOf = (person: string, at: Partial<SubmissionJob> = {}) =>
  jobOf('create_feedback', { description: 'slow', contact: { email: `${person}@x.example` } }, at)

const concernsOf = (job: SubmissionJob): string[] => keysOf(namesIn({ hashKey, workspaceId: job.workspaceId }, job))
const keyOf = (name: string): string => name.padEnd(22, '-')
const keyed = (job: SubmissionJob, name: string): IdempotencyRow => ({
  key: keyOf(name),
  body: 'hash-of-body',
  concerns: concernsOf(job),
})
const rowsWith = (job: SubmissionJob, name: string): Rows => ({ ...toRows(job), idempotency: keyed(job, name) })
const heldOf = ({ submissionId, number }: SubmissionJob) => ({ body: 'hash-of-body', submissionId, number })

describe('idempotency keys', () => {
  let schema: TestSchema
  before(async () => {
    schema = await freshSchema()
  })
  beforeEach(() => clearTables(schema.sql))
  after(() => schema.drop())

  const find = async (name: string, workspaceId = OURS) =>
    (await findIdempotencyKeys(schema.sql, [{ workspaceId, key: keyOf(name) }]))[0]
  const concerning = (job: SubmissionJob, number = ++lastNumber) =>
    keysToFree(schema.sql, { workspaceId: job.workspaceId, keyIds: concernsOf(job), number, limit: 100 })
  const free = async (job: SubmissionJob): Promise<void> => {
    const keys = await concerning(job)
    await freeKeys(schema.sql, { workspaceId: job.workspaceId, keys })
  }
  const decide = (job: JobOf<'purge_contact'>) =>
    store(schema.sql, [{ workspaceId: job.workspaceId, purge: purgeRow(hashKey, job) }])
  const settle = (job: JobOf<'purge_contact'>, idempotency?: IdempotencyRow) =>
    settlePurge(schema.sql, { ...job, attempts: 1, identifiers: { id: null, email: null }, idempotency })
  const purge = async (job: JobOf<'purge_contact'>, idempotency?: IdempotencyRow): Promise<void> => {
    await decide(job)
    await removePurged(schema.sql, job, async () => {})
    const { keys, contactIds } = (await findPurge(schema.sql, job))!
    const { workspaceId, number } = job
    const freed = await keysToFree(schema.sql, { workspaceId, keyIds: [...keys, ...contactIds], number, limit: 100 })
    await freeKeys(schema.sql, { workspaceId, keys: freed })
    await settle(job, idempotency)
  }

  it('are found with the submissions that they came with, in the order in which they are asked for', async () => {
    const [ours, theirs] = [feedbackOf('ada'), feedbackOf('ada', { workspaceId: THEIRS })]
    await store(schema.sql, [rowsWith(ours, 'a'), rowsWith(theirs, 'b'), toRows(feedbackOf('bob'))])
    const asked = [
      { workspaceId: THEIRS, key: keyOf('b') },
      { workspaceId: OURS, key: keyOf('b') },
      { workspaceId: OURS, key: keyOf('a') },
      { workspaceId: THEIRS, key: keyOf('a') },
      { workspaceId: THEIRS, key: keyOf('b') },
    ]
    const held = [heldOf(theirs), null, heldOf(ours), null, heldOf(theirs)]
    assert.deepEqual(await findIdempotencyKeys(schema.sql, asked), held)
    assert.deepEqual(await findIdempotencyKeys(schema.sql, []), [])
  })

  it('of two workspaces never mix, though they are the same', async () => {
    const [ours, theirs] = [feedbackOf('ada'), feedbackOf('ada', { workspaceId: THEIRS })]
    const both = [rowsWith(ours, 'a'), rowsWith(theirs, 'a')].map((rows) => ({
      ...rows,
      idempotency: { ...rows.idempotency!, concerns: concernsOf(ours) },
    }))
    await store(schema.sql, both)
    assert.deepEqual([await find('a'), await find('a', THEIRS)], [heldOf(ours), heldOf(theirs)])
    await free(ours)
    assert.deepEqual([await find('a'), await find('a', THEIRS)], [null, heldOf(theirs)])
    await store(schema.sql, both)
    assert.deepEqual([await find('a'), await find('a', THEIRS)], [null, heldOf(theirs)])
  })

  it('come with every kind of submission, and with one that is superseded', async () => {
    const jobs = [
      jobOf('identify_contact', { id: 'ada' }),
      jobOf('identify_account', { id: 'acme' }),
      jobOf('submit_conversation', {
        id: 'c',
        createdAt: '2026-01-01T00:00:00Z',
        source: 's',
        contacts: [{ id: 'ada' }],
        messages: [],
      }),
      jobOf('create_feedback', { description: 'slow', sourceId: '1' }),
    ] as const
    await store(schema.sql, [toRows(jobOf('create_feedback', { description: 'new', sourceId: '1' }))])
    await store(
      schema.sql,
      jobs.map((job) => rowsWith(job, job.operation)),
    )
    for (const job of jobs) assert.deepEqual(await find(job.operation), heldOf(job))
    const withoutReceipt = await schema.sql`
      select from idempotency_key as k
      where not exists (select from submission as s where s.id = k.submission_id and s.acceptance_number = k.number)`
    assert.equal(withoutReceipt.count, 0)
  })

  for (const count of [1, MANY]) {
    it(`change by nothing that is delivered again, ${count} at a time, also after they were freed`, async () => {
      const jobs = Array.from({ length: count }, (_, index) => feedbackOf(`person-${index}`))
      const batch = jobs.map((job, index) => rowsWith(job, `k${index}`))
      await store(schema.sql, batch)
      const stored = await schema.sql`select *, xmin::text from idempotency_key order by key`
      await store(schema.sql, batch)
      assert.deepEqual([...(await schema.sql`select *, xmin::text from idempotency_key order by key`)], [...stored])
      await free(jobs[0]!)
      await store(schema.sql, batch)
      assert.equal(await find('k0'), null)
      assert.equal((await schema.sql`select from idempotency_key`).count, count - 1)
    })

    it(`are of the later of two submissions, ${count} at a time, whichever is stored first`, async () => {
      const [early, late] = [feedbackOf('early'), feedbackOf('late')]
      const others = () =>
        Array.from({ length: count - 1 }, (_, at) => rowsWith(feedbackOf('bob'), `${at}-${lastNumber}`))
      await store(schema.sql, [rowsWith(early, 'a'), ...others(), rowsWith(late, 'b')])
      const [later, earlier] = [feedbackOf('later'), feedbackOf('earlier', { number: early.number - 1 })]
      await store(schema.sql, [rowsWith(later, 'a'), ...others(), rowsWith(earlier, 'b')])
      assert.deepEqual([await find('a'), await find('b')], [heldOf(later), heldOf(late)])
      assert.deepEqual(
        [...(await concerning(early))],
        [],
        'what the former submission concerned frees no key of the later',
      )
      const [first, second] = [feedbackOf('first'), feedbackOf('second')]
      await store(schema.sql, [rowsWith(second, 'c'), ...others(), rowsWith(first, 'c')])
      assert.deepEqual(await find('c'), heldOf(second))
      assert.equal((await schema.sql`select from submission`).count, 6 + 3 * (count - 1))
    })
  }

  it('are not kept of what fences refuse, nor of a conversation that concerns somebody who was purged', async () => {
    const late = feedbackOf('ada')
    const conversation = jobOf('submit_conversation', {
      id: 'c',
      createdAt: '2026-01-01T00:00:00Z',
      source: 's',
      contacts: [{ id: 'ada', properties: { $email: 'ada@x.example' } }, { id: 'bob' }],
      messages: [],
    })
    const other = feedbackOf('bob')
    await store(schema.sql, [rowsWith(feedbackOf('ada'), 'before')])
    await purge(jobOf('purge_contact', { email: 'ada@x.example' }))
    assert.equal(await find('before'), null)
    const again = feedbackOf('ada')
    const notApplied = await store(schema.sql, [
      rowsWith(late, 'late'),
      rowsWith(conversation, 'conversation'),
      rowsWith(other, 'other'),
      rowsWith(again, 'again'),
    ])
    assert.deepEqual([...notApplied], [{ id: late.submissionId, state: 'purged' }])
    assert.deepEqual([await find('late'), await find('conversation')], [null, null])
    assert.deepEqual([await find('other'), await find('again')], [heldOf(other), heldOf(again)])
  })

  it('of dead submissions stay through their replay, and are not kept again once a purge has freed them', async () => {
    const job = feedbackOf('ada')
    const dead = { job, attempts: 3, reason: 'x', idempotency: keyed(job, 'dead') }
    await setAside(schema.sql, hashKey, dead)
    await setAside(schema.sql, hashKey, dead)
    assert.deepEqual(await find('dead'), heldOf(job))
    await setAside(schema.sql, hashKey, { job: feedbackOf('bob'), attempts: 3, reason: 'x' })
    assert.equal((await schema.sql`select from idempotency_key`).count, 1)
    assert.equal((await markReplayed(schema.sql, OURS, job.submissionId)).outcome, 'queued')
    await store(schema.sql, [rowsWith(job, 'dead')])
    assert.deepEqual(await find('dead'), heldOf(job))
    const late = feedbackOf('ada')
    await purge(jobOf('purge_contact', { email: 'ada@x.example' }))
    await setAside(schema.sql, hashKey, dead)
    await setAside(schema.sql, hashKey, { ...dead, job: late, idempotency: keyed(late, 'late') })
    assert.deepEqual([await find('dead'), await find('late')], [null, null])
  })

  it('of purges are kept with their receipts, freed by the next purge, and do not come back', async () => {
    await store(schema.sql, [toRows(feedbackOf('ada'))])
    const [first, second] = [1, 2].map(() => jobOf('purge_contact', { email: 'ada@x.example' })) as [
      JobOf<'purge_contact'>,
      JobOf<'purge_contact'>,
    ]
    await purge(first, keyed(first, 'first'))
    assert.deepEqual(await find('first'), heldOf(first))
    await purge(second)
    assert.equal(await find('first'), null)
    const counts = await settle(first, keyed(first, 'first'))
    assert.equal(counts.contacts, 1)
    assert.equal(await find('first'), null)
    assert.deepEqual([...(await schema.sql`select from purge`)], [])
  })

  it('are freed if they concern a key, are older, and are still of that submission', async () => {
    const jobs = Array.from({ length: 3 }, () => feedbackOf('ada'))
    const batch = jobs.map((job, index) => rowsWith(job, `k${index}`))
    await store(schema.sql, [...batch, rowsWith(feedbackOf('bob'), 'bob')])
    const asked = { workspaceId: OURS, keyIds: [randomUUID(), ...concernsOf(jobs[0]!)], number: jobs[2]!.number }
    const found = await keysToFree(schema.sql, { ...asked, limit: 10 })
    const expected = jobs
      .slice(0, 2)
      .map(({ submissionId, number }, index) => ({ key: keyOf(`k${index}`), submissionId, number }))
    assert.deepEqual(
      found.toSorted((a, b) => a.number - b.number),
      expected,
    )
    assert.equal((await keysToFree(schema.sql, { ...asked, limit: 1 })).length, 1)
    const askedElse = [
      { ...asked, workspaceId: THEIRS },
      { ...asked, keyIds: [] },
    ]
    for (const other of askedElse) assert.equal((await keysToFree(schema.sql, { ...other, limit: 10 })).length, 0)
    const reused = feedbackOf('carol')
    await store(schema.sql, [rowsWith(reused, 'k1')])
    await freeKeys(schema.sql, { workspaceId: THEIRS, keys: found })
    await freeKeys(schema.sql, { workspaceId: OURS, keys: [] })
    assert.equal((await schema.sql`select from idempotency_key`).count, 4)
    await freeKeys(schema.sql, { workspaceId: OURS, keys: found })
    assert.deepEqual([await find('k0'), await find('k1'), await find('k2')], [null, heldOf(reused), heldOf(jobs[2]!)])
    const next = feedbackOf('ada')
    await store(schema.sql, [rowsWith(next, 'k0')])
    assert.deepEqual(await find('k0'), heldOf(next))
  })

  it('expire after their time, are free from then on, and then go', async () => {
    const SLACK = 60_000_000
    const [expired, alive, reused] = [LIFETIME + SLACK, LIFETIME - SLACK, LIFETIME + SLACK].map((age) =>
      feedbackOf('ada', { number: ++lastNumber - age }),
    ) as [SubmissionJob, SubmissionJob, SubmissionJob]
    await store(schema.sql, [rowsWith(expired, 'expired'), rowsWith(alive, 'alive'), rowsWith(reused, 'reused')])
    assert.deepEqual([await find('expired'), await find('alive'), await find('reused')], [null, heldOf(alive), null])
    const again = feedbackOf('ada')
    await store(schema.sql, [rowsWith(again, 'reused')])
    assert.deepEqual(await find('reused'), heldOf(again))
    assert.equal(await expireIdempotencyKeys(schema.sql), 1)
    assert.equal(await expireIdempotencyKeys(schema.sql), 0)
    const left = await schema.sql<{ key: string }[]>`select key from idempotency_key order by key`
    assert.deepEqual(
      left.map(({ key }) => key),
      [keyOf('alive'), keyOf('reused')],
    )
  })

  it('expire in as many steps as it takes', async () => {
    await schema.sql`
      insert into idempotency_key (workspace_id, key, body, submission_id, number, concerns)
      select ${OURS}, n, '', ${OURS}, n, '{}' from generate_series(1, 10001) as n`
    assert.equal(await expireIdempotencyKeys(schema.sql), 10_001)
  })

  it('hold nothing that was submitted, and go with their workspace', async () => {
    const workspaceId = randomUUID()
    const job = feedbackOf('grace', { workspaceId })
    await store(schema.sql, [rowsWith(job, 'a'), rowsWith(feedbackOf('grace'), 'a')])
    const rows = await schema.sql<{ text: string }[]>`select to_jsonb(k)::text as text from idempotency_key as k`
    for (const { text } of rows) assert.doesNotMatch(text, /grace|x\.example|slow/)
    await beginDeletion(schema.sql, workspaceId)
    await deleteOwnedRows(schema.sql, workspaceId, () => {})
    assert.deepEqual([await find('a', workspaceId), (await find('a'))?.body], [null, 'hash-of-body'])
  })
})
