import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { Submission } from '../../../contract/submission.ts'
import {
  countDead,
  dropDead,
  findDead,
  listBegunReplays,
  listDead,
  markReplayed,
  setAside,
  takeDueRetries,
} from '../../../db/submissions/dead.ts'
import type { Sql } from '../../../db/connection/postgres.ts'
import { findPurge } from '../../../db/purges/removal.ts'
import { readPosition } from '../../../db/submissions/position.ts'
import { findProgress, findReceipt } from '../../../db/submissions/receipts.ts'
import { createPurgeRig, type PurgeRig } from '../../support/purge-rig.ts'
import { hashKey, sharedSchema, whileLocked } from '../../support/schema.ts'

const schema = await sharedSchema()

describe('a dead submission', () => {
  let rig: PurgeRig
  let workspaceId: string
  beforeEach(async () => {
    rig = await createPurgeRig(schema.sql)
    workspaceId = rig.realm.workspaceId
  })

  const position = async (): Promise<number> => (await readPosition(schema.sql, workspaceId))!
  const aside = async (submission: Submission, reason = 'PostgresError 54000'): Promise<string> => {
    await setAside(schema.sql, hashKey, { submission, attempts: 3, reason, expected: await position() })
    return submission.submissionId
  }
  const feedback = (contact: object, more?: Partial<Submission>) =>
    rig.make(
      'create_feedback',
      { description: 'slow', isExternalContactId: false, isExternalAccountId: false, contact },
      more,
    )
  const conversation = (contactIds: string[]) =>
    rig.make('submit_conversation', {
      source: 'Chat',
      contacts: contactIds.map((id) => ({ id })),
      messages: contactIds.map((contactId) => ({ id: `of ${contactId}`, contactId })),
    })
  const stateOf = async (id: string) => (await findReceipt(schema.sql, workspaceId, id))?.state
  const begunReplays = async () =>
    (await listBegunReplays(schema.sql, { afterMs: 0, limit: 100 })).filter(
      (replay) => replay.workspaceId === workspaceId,
    )
  const progress = async () => {
    const [row] = await schema.sql<[{ applied: number; purged: number; dead: number }]>`
      select applied::int, purged::int, dead::int from workspace_progress where workspace_id = ${workspaceId}`
    return row
  }

  it('moves the position on, and is kept with its reason', async () => {
    const submission = feedback({ email: 'ada@example.com' }, { idempotency: { key: 'k', body: 'b' } })
    const id = await aside(submission)
    assert.equal(await position(), submission.number)
    const receipt = await findReceipt(schema.sql, workspaceId, id)
    assert.deepEqual([receipt?.state, receipt?.attempts, receipt?.error], ['dead', 3, 'PostgresError 54000'])
    assert.deepEqual(await progress(), { applied: 0, purged: 0, dead: 1 })
    const found = await findDead(schema.sql, id)
    assert.deepEqual(JSON.parse(found!.submission), submission)
    assert.equal((await listDead(schema.sql, { id }, null)).length, 1)
    assert.deepEqual([...(await countDead(schema.sql, { id }))], [{ reason: 'PostgresError 54000', submissions: 1 }])
  })

  it('is not set aside if another worker has moved the position meanwhile', async () => {
    const submission = feedback({ email: 'ada@example.com' })
    const expected = await position()
    await rig.feedback({})
    assert.equal(await setAside(schema.sql, hashKey, { submission, attempts: 1, reason: 'x', expected }), false)
    assert.equal(await stateOf(submission.submissionId), undefined)
  })

  it('is queued again by a replay, once, and dead again if the replay fails as well', async () => {
    const submission = feedback({ email: 'ada@example.com' })
    const id = await aside(submission)
    assert.deepEqual(await markReplayed(schema.sql, workspaceId, id), { outcome: 'queued', submission })
    assert.equal(await stateOf(id), 'queued')
    assert.equal((await progress()).dead, 0)
    assert.deepEqual(await markReplayed(schema.sql, workspaceId, id), { outcome: 'queued', submission: null })
    assert.deepEqual(await begunReplays(), [{ workspaceId, id, submission }])
    const { number } = feedback({})
    await aside({ ...submission, number, originalNumber: submission.number }, 'another reason')
    assert.equal(await position(), number)
    const receipt = await findReceipt(schema.sql, workspaceId, id)
    assert.deepEqual([receipt?.state, receipt?.error], ['dead', 'another reason'])
    assert.equal((await progress()).dead, 1)
    assert.deepEqual(await begunReplays(), [])
  })

  it('is to be replayed after a minute, ten minutes and an hour if its fault may pass, and then no more', async () => {
    const submission = feedback({ email: 'ada@example.com' })
    const { submissionId: id, number: originalNumber } = submission
    const minutes: (number | null)[] = []
    for (let death = 1; death <= 4; death++) {
      const again = death === 1 ? submission : { ...submission, number: feedback({}).number, originalNumber }
      const dead = { submission: again, attempts: 2, reason: 'x', mayPass: true, expected: await position() }
      assert.ok(await setAside(schema.sql, hashKey, dead))
      const [row] = await schema.sql<[{ minutes: number | null }]>`
        select extract(epoch from retry_at - died_at)::float8 / 60 as minutes from dead_submission where id = ${id}`
      minutes.push(row.minutes)
      await schema.sql`update dead_submission set retry_at = now() where id = ${id} and retry_at is not null`
      const due = (await takeDueRetries(schema.sql, 100)).filter((retry) => retry.id === id)
      assert.equal(due.length, death < 4 ? 1 : 0)
      assert.equal((await markReplayed(schema.sql, workspaceId, id)).outcome, 'queued')
      assert.deepEqual([...(await takeDueRetries(schema.sql, 100))], [], 'a replay is not repeated while it is queued')
    }
    assert.deepEqual(minutes, [1, 10, 60, null])
  })

  it('can be dropped, unless it is queued again', async () => {
    const [dropped, queued] = [await aside(feedback({ name: 'A' })), await aside(feedback({ name: 'B' }))]
    await markReplayed(schema.sql, workspaceId, queued)
    assert.equal(await dropDead(schema.sql, { id: dropped }), 1)
    assert.equal(await dropDead(schema.sql, { id: queued }), 0)
    assert.deepEqual(await markReplayed(schema.sql, workspaceId, dropped), { outcome: 'unknown', submission: null })
    const raced = await aside(feedback({ name: 'C' }))
    const replay = (sql: Sql) => markReplayed(sql, workspaceId, raced)
    assert.equal(await whileLocked(schema.sql, replay, () => dropDead(schema.sql, { id: raced })), 0)
    const lost = await aside(feedback({ name: 'D' }))
    const drop = (sql: Sql) => dropDead(sql, { id: lost })
    const late = await whileLocked(schema.sql, drop, () => markReplayed(schema.sql, workspaceId, lost))
    assert.deepEqual(late, { outcome: 'unknown', submission: null })
  })

  it('that is a purge cannot be queued again', async () => {
    const id = await aside(rig.make('purge_contact', { id: 'ada' }))
    assert.deepEqual(await markReplayed(schema.sql, workspaceId, id), { outcome: 'undecided-purge', submission: null })
  })

  it('can be the only match of a purge, which removes it', async () => {
    const id = await aside(feedback({ email: 'Ada <ada@example.com>' }, { idempotency: { key: 'k', body: 'b' } }))
    const other = await aside(feedback({ email: 'bob@example.com' }))
    const purge = await rig.decide({ email: 'ADA@example.com' })
    assert.ok(purge.isMatched)
    assert.equal((await markReplayed(schema.sql, workspaceId, id)).outcome, 'being-purged')
    const found = await findPurge(schema.sql, { workspaceId, ...purge })
    const counts = await rig.remove(purge)
    assert.deepEqual([counts.contacts, counts.deadSubmissions], [0, 1])
    assert.deepEqual([await stateOf(id), await stateOf(other)], ['purged', 'dead'])
    assert.deepEqual(await progress(), { applied: 1, purged: 1, dead: 1 })
    const keys = await schema.sql`
      select idempotency_key as key from submission
      where workspace_id = ${workspaceId} and subject_id = any (${found!.subjectIds}::uuid[])`
    assert.deepEqual([...keys], [{ key: 'k' }], 'its idempotency key is among the keys to free')
  })

  it('stays if it was accepted after the purge, and can be queued again', async () => {
    await aside(feedback({ email: 'ada@example.com' }))
    const purge = await rig.decide({ email: 'ada@example.com' })
    const later = feedback({ email: 'ada@example.com' })
    const id = await aside(later)
    const repeated = await rig.decide({ email: 'ada@example.com' })
    assert.equal((await rig.remove(purge)).deadSubmissions, 1)
    assert.equal(await stateOf(id), 'dead', 'the later purge removes it')
    assert.equal((await rig.remove(repeated)).deadSubmissions, 1)
    const last = await aside(feedback({ email: 'ada@example.com' }))
    const pending = await rig.decide({ email: 'ada@example.com' })
    const after = feedback({ email: 'ada@example.com' })
    assert.equal((await markReplayed(schema.sql, workspaceId, await aside(after))).outcome, 'queued')
    assert.equal((await markReplayed(schema.sql, workspaceId, last)).outcome, 'being-purged')
    await rig.remove(pending)
    assert.equal(await stateOf(after.submissionId), 'queued')
  })

  it('is removed by the first of two purges, and the second one still counts as matched', async () => {
    await aside(feedback({ email: 'ada@example.com' }))
    const [first, second] = [
      await rig.decide({ email: 'ada@example.com' }),
      await rig.decide({ email: 'ada@example.com' }),
    ]
    await rig.remove(first)
    assert.equal((await rig.remove(second)).deadSubmissions, 0)
    const stranger = await rig.decide({ email: 'stranger@example.com' })
    const asked = [second, stranger].map(({ purgeId: id }) => ({ workspaceId, id }))
    const unmatched = new Map((await findProgress(schema.sql, asked)).map(({ id, isUnmatched }) => [id, isUnmatched]))
    assert.deepEqual([unmatched.get(second.purgeId), unmatched.get(stranger.purgeId)], [false, true])
  })

  it('is removed by a purge in one source if it names the id without a source, and stays if it names another source', async () => {
    await rig.identify({ id: 'ada', source: 'CRM' })
    const external = { isExternalContactId: true, isExternalAccountId: false, description: 'x' }
    const open = await aside(rig.make('create_feedback', { ...external, contactId: 'ada' }))
    const elsewhere = await aside(rig.make('identify_contact', { id: 'ada', source: 'Chat' }))
    await rig.purge({ id: 'ada', source: 'CRM' })
    assert.deepEqual([await stateOf(open), await stateOf(elsewhere)], ['purged', 'dead'])
    assert.equal((await rig.purge({ id: 'ada' })).deadSubmissions, 1)
    assert.equal(await stateOf(elsewhere), 'purged')
  })

  it('that is a conversation of several contacts loses only the parts of the purged contact', async () => {
    const both = await aside(conversation(['ada', 'bob']))
    const alone = await aside(conversation(['ada']))
    assert.equal((await rig.purge({ id: 'ada' })).deadSubmissions, 2)
    assert.deepEqual([await stateOf(both), await stateOf(alone)], ['dead', 'purged'])
    const kept = JSON.parse((await findDead(schema.sql, both))!.submission) as ReturnType<typeof conversation>
    assert.deepEqual(kept.body, conversation(['bob']).body)
    assert.ok(!(await rig.decide({ id: 'ada' })).isMatched, 'no member names the contact')
  })

  it('that is queued again is cancelled by a purge before it in the log', async () => {
    const submission = feedback({ email: 'ada@example.com' })
    const id = await aside(submission)
    await markReplayed(schema.sql, workspaceId, id)
    const purge = await rig.decide({ email: 'ada@example.com' })
    assert.equal(await stateOf(id), 'dead')
    await rig.remove(purge)
    assert.equal(await stateOf(id), 'purged')
    await rig.apply({ ...submission, number: feedback({}).number, originalNumber: submission.number })
    assert.equal(await stateOf(id), 'purged', 'the worker skips the replay in the log')
    assert.equal((await schema.sql`select from contact where workspace_id = ${workspaceId}`).count, 0)
    assert.deepEqual(await progress(), { applied: 1, purged: 1, dead: 0 })
  })
})
