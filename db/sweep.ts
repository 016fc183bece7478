import { admissionKeys } from './admission-keys.ts'
import { QUEUE_OF } from './contract/job.ts'
import { IDEMPOTENCY_SECONDS } from './idempotency.ts'
import type { JobQueues } from './job-queues.ts'
import type { Sql } from './postgres.ts'
import { type RedisClient, scanKeys } from './redis.ts'
import type { SubmissionState } from './receipts.ts'

/** An admission without a job is given up after this time: its request got no confirmation. */
export const GIVEN_UP_AFTER_MS = 60_000
const MICROSECONDS_PER_MS = 1_000
const LOOKED_AT = 100

// KEYS outstanding exists ledger purges withdrawn. ARGV submission number seconds. Values of exists are number:of. Withdraws once,
// however many sweep at the same time. Whoever comes with its idempotency key is not told that it was accepted.
const WITHDRAW = `
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('SET', KEYS[5], '', 'EX', ARGV[3])
redis.call('HINCRBY', KEYS[3], 'accepted', -1)
redis.call('ZREM', KEYS[4], ARGV[1])
local fields = redis.call('HGETALL', KEYS[2])
for i = 1, #fields, 2 do
  if string.match(fields[i + 1], '^%d+') == ARGV[2] then redis.call('HDEL', KEYS[2], fields[i]) end
end
return 1
`

/**
 * Withdraws admissions whose job never came: admitting and queueing are two steps, and a process can die in between. Until
 * then they hold up the purges of their workspace. Returns how many were withdrawn.
 */
export const withdrawLost = async (
  { sql, redis, prefix, queues }: { sql: Sql; redis: RedisClient; prefix: string; queues: JobQueues },
  now: number,
): Promise<number> => {
  const workspaces = await sql<{ id: string }[]>`select id from workspace`
  let withdrawn = 0
  for (const { id: workspaceId } of workspaces) {
    const name = admissionKeys(prefix, workspaceId)
    const until = String((now - GIVEN_UP_AFTER_MS) * MICROSECONDS_PER_MS)
    const old = await redis.zrangebyscore(name.outstanding, '-inf', until, 'WITHSCORES', 'LIMIT', 0, LOOKED_AT)
    for (let index = 0; index < old.length; index += 2) {
      const [submissionId, number] = [old[index]!, old[index + 1]!]
      if (await hasJob(queues, submissionId)) continue
      const state = await stateOf(sql, workspaceId, submissionId)
      // Only a dead submission that is being replayed is queued by its receipt: replay.ts looks after it.
      if (state === 'queued') continue
      if (state !== undefined) {
        await clearBooks(redis, prefix, { workspaceId, submissionId, number: Number(number) })
        continue
      }
      const keys = [name.outstanding, name.exists, name.ledger, name.purges, name.withdrawn(submissionId)]
      withdrawn += Number(await redis.eval(WITHDRAW, keys.length, ...keys, submissionId, number, IDEMPOTENCY_SECONDS))
      await forgetSayings(redis, name.said('*'), number)
    }
  }
  return withdrawn
}

// KEYS exists. ARGV number.
const FORGET_EXISTS = `
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  if string.match(fields[i + 1], '^%d+') == ARGV[1] then redis.call('HDEL', KEYS[1], fields[i]) end
end
return 0
`

/** Takes a settled submission off the books whose body is gone already: its worker died between these two steps. */
export const clearBooks = async (
  redis: RedisClient,
  prefix: string,
  { workspaceId, submissionId, number }: { workspaceId: string; submissionId: string; number: number },
): Promise<void> => {
  const name = admissionKeys(prefix, workspaceId)
  await Promise.all([name.outstanding, name.purges, name.removing].map((key) => redis.zrem(key, submissionId)))
  await redis.eval(FORGET_EXISTS, 1, name.exists, number)
  await forgetSayings(redis, name.said('*'), String(number))
}

/** Whether a submission's job is there and not completed. */
export const hasJob = async (queues: JobQueues, submissionId: string): Promise<boolean> => {
  const names = [...new Set(Object.values(QUEUE_OF))]
  const states = await Promise.all(names.map((name) => queues[name].getJobState(submissionId)))
  return states.some((state) => state !== 'unknown' && state !== 'completed')
}

const stateOf = async (sql: Sql, workspaceId: string, id: string): Promise<SubmissionState | undefined> => {
  const [row] = await sql<{ state: SubmissionState }[]>`
    select state from submission where workspace_id = ${workspaceId} and id = ${id}`
  return row?.state
}

/** What the lost submission would have said. Its body is gone, so all that is said in the workspace is looked through. */
const forgetSayings = async (redis: RedisClient, pattern: string, number: string): Promise<void> => {
  for await (const keys of scanKeys(redis, { match: pattern.replaceAll(/[{}]/g, '\\$&'), count: 1_000 })) {
    for (const key of keys) await redis.hdel(key, number)
  }
}
