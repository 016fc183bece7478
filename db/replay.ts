import type { Queue } from 'bullmq'
import type { RedisClient } from './redis.ts'
import * as v from 'valibot'
import { admissionKeys } from './admission-keys.ts'
import { type Operation, QUEUE_OF, settledJob, type SubmissionJob } from './contract/job.ts'
import type { HashKey } from './contract/own-id.ts'
import { pendingOf } from './contract/pending.ts'
import { type JobQueues, submissionEnqueuer } from './job-queues.ts'
import type { Sql } from './postgres.ts'
import { parseJob } from './queued-submissions.ts'
import { settlementIn } from './settlement.ts'
import { hasJob } from './sweep.ts'

export type ReplayStores = { sql: Sql; redis: RedisClient; prefix: string; queues: JobQueues; hashKey: HashKey }

/** Queued again, or why not: `finishing` passes within seconds, `being-purged` ends with the purge, the others do not pass. */
export type ReplayOutcome = 'queued' | 'unknown' | 'unreadable' | 'finishing' | 'being-purged' | 'undecided-purge'

type Dead = { workspaceId: string; id: string; operation: Operation }

/**
 * Queues a dead submission again, under the id and the acceptance number that it has: it takes its old place, and fences refuse
 * what was purged since. Repeating it queues it once. First the receipt, then the books, then the job: whatever comes in
 * between, `giveUpLostReplays` finds it.
 */
export const replay = async (stores: ReplayStores, { workspaceId, id, operation }: Dead): Promise<ReplayOutcome> => {
  const { sql, redis, queues } = stores
  const [held] = await sql<{ job: string }[]>`
    select job from dead_submission where workspace_id = ${workspaceId} and id = ${id}`
  if (!held) return 'unknown'
  if (!parseJob(held.job)) return 'unreadable'
  if (!(await makeRoom(queues[QUEUE_OF[operation]], id))) return 'finishing'
  const [marked] = await sql<[{ outcome: ReplayOutcome; job: string | null }]>`
    select outcome, dead_job as job from replay_dead(${workspaceId}, ${id})`
  const job = marked.job === null ? undefined : parseJob(marked.job)?.job
  if (!job) return marked.outcome
  await putOnBooks(stores, job)
  await submissionEnqueuer(redis, queues)(job)
  return 'queued'
}

/** A finished job is kept for a while, and nothing can be queued under its id. False while its worker is about to finish it. */
const makeRoom = async (queue: Queue, id: string): Promise<boolean> => {
  const state = await queue.getJobState(id)
  if (state === 'completed' || state === 'failed') await queue.remove(id)
  const job: unknown = (await queue.getJob(id))?.data
  return !v.is(settledJob, job)
}

// KEYS outstanding exists purges, then the keys of what is said. ARGV number submission isPurge #exists (id suffix)… said value….
// As ADMIT leaves them. What came to exist by a later submission that is queued, too, stays its own.
const PUT_ON_BOOKS = `
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
if ARGV[3] == '1' then redis.call('ZADD', KEYS[3], ARGV[1], ARGV[2]) end
local n = tonumber(ARGV[4])
for i = 1, n do redis.call('HSETNX', KEYS[2], ARGV[3 + 2 * i], ARGV[1] .. ARGV[4 + 2 * i]) end
for i = 4, #KEYS do redis.call('HSET', KEYS[i], ARGV[1], ARGV[1 + 2 * n + i]) end
return 0
`

const putOnBooks = async ({ redis, prefix, hashKey }: ReplayStores, job: SubmissionJob): Promise<void> => {
  const { workspaceId, submissionId, number, operation } = job
  const name = admissionKeys(prefix, workspaceId)
  const { exists, said } = pendingOf({ hashKey, workspaceId }, job)
  const keys = [name.outstanding, name.exists, name.purges, ...said.map(({ keyId }) => name.said(keyId))]
  await redis.eval(
    PUT_ON_BOOKS,
    keys.length,
    ...keys,
    number,
    submissionId,
    operation === 'purge_contact' ? 1 : 0,
    exists.length,
    ...exists.flatMap(({ id, of }) => [id, `:${of}`]),
    ...said.map(({ sayings }) => JSON.stringify(sayings)),
  )
}

const LOOKED_AT = 20

/**
 * Gives up replays that were begun more than `afterMs` ago and whose job never came, since whoever replayed them died in
 * between: they are dead as before. Returns how many.
 */
export const giveUpLostReplays = async (stores: ReplayStores, afterMs: number): Promise<number> => {
  const { sql, redis, prefix, queues, hashKey } = stores
  const after = sql`make_interval(secs => ${afterMs / 1_000})`
  const begun = await sql<{ workspaceId: string; id: string; job: string }[]>`
    select workspace_id as "workspaceId", id, job from dead_submission
    where replayed_at <= now() - ${after} order by replayed_at limit ${LOOKED_AT}`
  let givenUp = 0
  for (const { workspaceId, id, job: text } of begun) {
    const job = parseJob(text)?.job
    if (!job || (await hasJob(queues, id))) continue
    // Its state last: until it is off the books, it is looked at again.
    const pending = pendingOf({ hashKey, workspaceId }, job)
    await settlementIn(redis, prefix).settle([{ workspaceId, submissionId: id, number: job.number, pending }])
    const [row] = await sql<[{ was: boolean }]>`select give_up_replay(${workspaceId}, ${id}, ${after}) as was`
    if (row.was) givenUp++
  }
  return givenUp
}
