import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { Submission } from '../../contract/submission.ts'
import { beginDeletion } from '../../db/workspaces/delete-workspace.ts'
import { markReplayed, setAside } from '../../db/submissions/dead.ts'
import { expireTombstones, readChanges } from '../../db/reads/changes.ts'
import { createWorkspace } from '../../db/workspaces/workspaces.ts'
import { groupKeys, groupOf, GROUPS, workspaceKeys } from '../../queue/keys.ts'
import { listLogs } from '../../queue/log/groups.ts'
import {
  addToSums,
  findStrays,
  finishReplays,
  forgetDeletedWorkspaces,
  resumePurges,
  retryDead,
  startMaintenance,
  sweepAllLogs,
} from '../../worker/maintenance.ts'
import { CAPABILITIES } from '../../worker/capabilities.ts'
import type { MaintenanceDependencies } from '../../worker/capability.ts'
import { feedbackBody } from '../support/inject.ts'
import { requestFor, entered, openQueueRoom, takeSettings } from '../support/queue-room.ts'
import { freshSchema, hashKey, type TestSchema } from '../support/schema.ts'
import { until } from '../support/until.ts'

const SECOND = 1_000_000
/** The number of tasks that need Postgres while a log has entries. */
const TASKS = 9 + CAPABILITIES.flatMap(({ tasks = [] }) => tasks).length
const TAKE = takeSettings({ redoMs: 60_000 })

describe('maintenance', () => {
  const room = openQueueRoom()
  const lines: [event: string, fields: Readonly<Record<string, unknown>> | undefined][] = []
  let schema: TestSchema
  let dependencies: MaintenanceDependencies
  let workspaceId: string
  before(async () => {
    schema = await freshSchema(2)
    dependencies = {
      ...room,
      logs: room.log,
      sql: schema.sql,
      hashKey,
      redoMs: () => 60_000,
      receiptDays: 90,
      tombstoneDays: 90,
      log: (_level, event, fields) => void lines.push([event, fields]),
    }
  })
  beforeEach(async () => {
    workspaceId = (await createWorkspace(schema.sql, randomUUID()))!.id
    await room.queues.wake.drain()
  })
  after(async () => {
    await room.close()
    await schema.drop()
  })

  const addTombstone = (position: number) => schema.sql`
    insert into tombstone (workspace_id, position, kind, record_id)
    values (${workspaceId}, ${position}, 'feedback', ${randomUUID()})`

  it('removes old tombstones, and makes a consumer that has not seen them begin again', async () => {
    const days = (ago: number): number => (Date.now() - ago * 86_400_000) * 1_000
    for (const ago of [95, 93, 91, 80, 1]) await addTombstone(days(ago))
    await schema.sql`update workspace_progress set change_position = ${days(1)} where workspace_id = ${workspaceId}`
    const read = (position: number, passSince?: number) =>
      readChanges(schema.sql, workspaceId, { after: { position, passSince }, limit: 1 })
    const known = await read(days(94))
    assert.ok(known !== 'expired' && known.changes.length === 1)
    assert.equal(await expireTombstones(schema.sql, 90), 3)
    assert.equal(await expireTombstones(schema.sql, 90), 0)
    assert.equal(await read(days(94)), 'expired')
    const quiet = await read(days(85))
    assert.ok(quiet !== 'expired' && quiet.changes.length === 1)
    const first = await read(0)
    assert.ok(first !== 'expired')
    assert.deepEqual(
      first.changes.map(({ record }) => record),
      [undefined],
    )
    assert.ok(first.next.passSince !== undefined, 'the pass continues')
    const goingOn = await read(days(94), days(0))
    assert.ok(goingOn !== 'expired', 'on its first pass a consumer needs no older tombstones')
  })

  const admit = async (description = 'x', id = workspaceId): Promise<number> =>
    entered(await room.admit(requestFor({ workspaceId: id, bodyText: JSON.stringify(feedbackBody(description)) })))
      .number
  /** Moves the admission of waiting submissions back by this time. */
  const age = async (microseconds: number): Promise<void> => {
    const { state } = workspaceKeys(room.prefix, workspaceId)
    await room.redis.hincrby(state, 'oldest', -microseconds)
  }
  const woken = async (): Promise<string[]> => {
    const jobs = await room.queues.wake.getJobs(['waiting'])
    return jobs.flatMap(({ data }) => (data as { workspaceIds: string[] }).workspaceIds)
  }
  const waiting = (): Promise<Submission[]> => Array.fromAsync(room.log.readWaiting(workspaceId))

  it('wakes a workspace only after its entries have waited for seconds', async () => {
    await admit()
    await sweepAllLogs.run(dependencies)
    assert.ok(!(await woken()).includes(workspaceId))
    await age(4 * SECOND)
    await sweepAllLogs.run(dependencies)
    assert.ok((await woken()).includes(workspaceId))
  })

  /** A turn for each group of workspaces. */
  const lookAtEachGroup = async (): Promise<void> => {
    for (const _group of GROUPS) await findStrays.run(dependencies)
  }

  it('finds a waiting workspace again if Redis has lost the note that it has entries', async () => {
    await admit()
    await age(4 * SECOND)
    await room.redis.del(...GROUPS.map((group) => groupKeys(room.prefix, group).withEntries))
    await sweepAllLogs.run(dependencies)
    assert.ok(!(await woken()).includes(workspaceId))
    await lookAtEachGroup()
    await sweepAllLogs.run(dependencies)
    assert.ok((await woken()).includes(workspaceId))
  })

  it('wakes a workspace again if Redis was restored to a state from before the position', async () => {
    const number = await admit()
    const keys = await room.redis.keys(`{${room.prefix}:${groupOf(workspaceId)}}:*`)
    const dumps = await Promise.all(keys.map((key) => room.redis.dumpBuffer(key)))
    await room.log.take([{ workspaceId, applied: number }], takeSettings())
    await schema.sql`update workspace_progress set applied_number = ${number} where workspace_id = ${workspaceId}`
    await sweepAllLogs.run(dependencies)
    assert.ok(!(await listLogs(room.redis, room.prefix)).includes(workspaceId))
    for (const [at, key] of keys.entries()) await room.redis.restore(key, 0, dumps[at]!, 'REPLACE')
    await age(4 * SECOND)
    await sweepAllLogs.run(dependencies)
    assert.ok((await woken()).includes(workspaceId))
  })

  it('wakes no workspace that is idle, and Redis notes none', async () => {
    const number = await admit()
    await schema.sql`update workspace_progress set applied_number = ${number} where workspace_id = ${workspaceId}`
    await room.log.take([{ workspaceId, applied: number }], TAKE)
    assert.ok((await listLogs(room.redis, room.prefix)).includes(workspaceId), 'the entry stays for a failover')
    const { state, log } = workspaceKeys(room.prefix, workspaceId)
    await room.redis.hincrby(state, 'redoAt', -60_000)
    await sweepAllLogs.run(dependencies)
    await lookAtEachGroup()
    assert.ok(!(await listLogs(room.redis, room.prefix)).includes(workspaceId))
    assert.ok(!(await woken()).includes(workspaceId))
    assert.equal(await room.redis.exists(log), 0)
  })

  it('makes workers apply again the entries that a promoted standby of Postgres lacks', async () => {
    const number = await admit()
    await age(4 * SECOND)
    await room.log.take([{ workspaceId }], TAKE)
    await room.log.take([{ workspaceId, applied: number }], TAKE)
    assert.deepEqual(await waiting(), [])
    await sweepAllLogs.run(dependencies)
    assert.deepEqual(
      (await waiting()).map((submission) => submission.number),
      [number],
    )
  })

  const deadSubmission = async (): Promise<Submission> => {
    const number = await admit('replayed')
    const [submission] = await waiting()
    await room.log.take([{ workspaceId }], TAKE)
    await setAside(schema.sql, hashKey, { submission: submission!, attempts: 8, reason: 'x', expected: 0 })
    await room.log.take([{ workspaceId, applied: number }], TAKE)
    return submission!
  }

  it('appends a begun replay once if its process died before the append', async () => {
    const { submissionId, number } = await deadSubmission()
    await finishReplays.run(dependencies)
    assert.deepEqual(await waiting(), [], 'the submission is dead and stays dead')
    assert.equal((await markReplayed(schema.sql, workspaceId, submissionId)).outcome, 'queued')
    await finishReplays.run(dependencies)
    assert.deepEqual(await waiting(), [], 'the replay is too young')
    await schema.sql`update dead_submission set replayed_at = now() - interval '2 minutes' where id = ${submissionId}`
    for (let time = 0; time < 2; time++) await finishReplays.run(dependencies)
    const appended = await waiting()
    assert.deepEqual(
      appended.map((submission) => [submission.submissionId, submission.originalNumber, submission.number > number]),
      [[submissionId, number, true]],
    )
    assert.deepEqual(await woken(), [workspaceId])
  })

  it('replays a dead submission whose fault may have passed when its time has come, once', async () => {
    const number = await admit('poisoned')
    const [submission] = await waiting()
    await room.log.take([{ workspaceId }], TAKE)
    const dead = { submission: submission!, attempts: 2, reason: 'x', mayPass: true, expected: 0 }
    await setAside(schema.sql, hashKey, dead)
    await room.log.take([{ workspaceId, applied: number }], TAKE)
    await retryDead.run(dependencies)
    assert.deepEqual(await waiting(), [], 'it is not due')
    await schema.sql`update dead_submission set retry_at = now() where workspace_id = ${workspaceId}`
    for (let time = 0; time < 2; time++) await retryDead.run(dependencies)
    assert.deepEqual(
      (await waiting()).map(({ submissionId, originalNumber }) => [submissionId, originalNumber]),
      [[submission!.submissionId, number]],
    )
    assert.deepEqual(await woken(), [workspaceId])
  })

  it('adds again the jobs of purges that began more than a minute ago', async () => {
    const [old, young] = [randomUUID(), randomUUID()]
    const insert = async (id: string, ageMs: number): Promise<void> => {
      const number = (Date.now() - ageMs) * 1_000
      await schema.sql`
        insert into purge (workspace_id, id, number, contact_ids, keys, subject_ids, contacts)
        values (${workspaceId}, ${id}, ${number}, '{}', '{}', '{}', 1)`
    }
    await insert(old, 120_000)
    await insert(young, 1_000)
    assert.deepEqual(await resumePurges.run(dependencies), { purgesResumed: 1 })
    const jobs = await room.queues.removal.getJobs(['waiting'])
    assert.deepEqual(
      jobs.map(({ data }) => data as object),
      [{ workspaceId, purgeId: old }],
    )
    await schema.sql`delete from purge`
  })

  it('forgets submissions that were admitted after their workspace was deleted, and leaves other workspaces', async () => {
    const deleted = workspaceId
    await beginDeletion(schema.sql, deleted)
    await admit()
    workspaceId = (await createWorkspace(schema.sql, randomUUID()))!.id
    await admit()
    const kept = await room.keysOf(workspaceId)
    assert.ok(kept.length > 0 && (await room.keysOf(deleted)).length > 0)
    await forgetDeletedWorkspaces.run(dependencies)
    assert.deepEqual([await room.keysOf(deleted), await room.keysOf(workspaceId)], [[], kept])
  })

  it('adds feedback to the sums of workspaces with many changes, and of no others', async () => {
    const other = (await createWorkspace(schema.sql, randomUUID()))!.id
    for (const [id, changes] of [
      [workspaceId, 4_000],
      [other, 3_999],
    ] as const) {
      await admit('x', id)
      await schema.sql`
        insert into feedback (workspace_id, id, description, tags_generated, source, first_number, number, change_position)
        select ${id}, gen_random_uuid(), 'x', true, 'API', n, n, n from generate_series(1, 4000) as n`
      await schema.sql`update workspace_progress set unsummed = ${changes} where workspace_id = ${id}`
    }
    await addToSums.run(dependencies)
    const sums = await schema.sql`
      select s.workspace_id, s.feedback::int as feedback from feedback_sum as s where s.dimension = 'time'`
    assert.deepEqual([...sums], [{ workspace_id: workspaceId, feedback: 4_000 }])
    const [left] =
      await schema.sql`select unsummed::int as unsummed from workspace_progress where workspace_id = ${workspaceId}`
    assert.equal(left?.['unsummed'], 0)
  })

  it('wakes waiting workspaces, logs its work, and continues after faults', async () => {
    await admit()
    await age(60 * SECOND)
    lines.length = 0
    const running = startMaintenance(dependencies)
    await until('the workspace is woken', async () => (await woken()).includes(workspaceId))
    await until('maintenance logs its work', async () => lines.some(([event]) => event === 'maintenance'))
    running.stop()
    assert.deepEqual(
      lines.filter(([event]) => event !== 'maintenance'),
      [],
    )
    // Without this, the next maintenance would wait for the turns of the first.
    const turns = await room.redis.keys(`{${room.prefix}:processes}:turn:*`)
    if (turns.length > 0) await room.redis.del(...turns)
    const sql = (() => {
      throw new Error('away')
    }) as unknown as TestSchema['sql']
    const failing = startMaintenance({ ...dependencies, sql })
    const failed = () => lines.flatMap(([event, fields]) => (event === 'maintenance_failed' ? [fields?.['task']] : []))
    await until('each task that needs Postgres has failed, and one has failed again', async () => {
      return new Set(failed()).size === TASKS && failed().length > TASKS
    })
    failing.stop()
  })
})
