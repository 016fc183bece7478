import type { SubmissionJob } from '../contract/job.ts'
import type { Sayings } from '../contract/identity/sayings.ts'
import { admissionKeys } from './admission-keys.ts'
import type { RedisClient } from './redis.ts'

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

/** Puts a submission that has its number already back on the books, with what it says. It can be repeated without harm. */
export const putOnBooks = async (
  redis: RedisClient,
  prefix: string,
  { job, sayings: { newIds, aboutKeys } }: { job: SubmissionJob; sayings: Sayings },
): Promise<void> => {
  const { workspaceId, submissionId, number, operation } = job
  const name = admissionKeys(prefix, workspaceId)
  const keys = [name.outstanding, name.exists, name.purges, ...aboutKeys.map(({ keyId }) => name.said(keyId))]
  await redis.eval(
    PUT_ON_BOOKS,
    keys.length,
    ...keys,
    number,
    submissionId,
    operation === 'purge_contact' ? 1 : 0,
    newIds.length,
    ...newIds.flatMap(({ id, of }) => [id, `:${of}`]),
    ...aboutKeys.map(({ sayings }) => JSON.stringify(sayings)),
  )
}
