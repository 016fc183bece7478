import type { RedisClient } from './redis.ts'
import { type AdmissionKeys, admissionKeys } from './admission-keys.ts'
import type { Sayings } from '../contract/identity/sayings.ts'

/**
 * For scripts: takes settled submissions off the books, with `keys` outstanding exists purges removing. `args` has from place `from`
 * on how the names of what is said begin (all are in one slot), #submissions submission…, 1 if there are purges among them, else 0,
 * #exists (value id)…, then (key number) of what was said.
 */
export const SETTLE_TOLD = `
local function settle(keys, args, from)
  local ofSaid, last = args[from], from + 1 + args[from + 1]
  redis.call('ZREM', keys[1], unpack(args, from + 2, last))
  if args[last + 1] == '1' then
    redis.call('ZREM', keys[3], unpack(args, from + 2, last))
    redis.call('ZREM', keys[4], unpack(args, from + 2, last))
  end
  local said = last + 3 + 2 * args[last + 2]
  for at = last + 3, said - 1, 2 do
    if redis.call('HGET', keys[2], args[at + 1]) == args[at] then redis.call('HDEL', keys[2], args[at + 1]) end
  end
  for at = said, #args, 2 do redis.call('HDEL', ofSaid .. args[at], args[at + 1]) end
end
`

const SETTLE = `
${SETTLE_TOLD}
settle(KEYS, ARGV, 1)
return 0
`

// KEYS outstanding purges removing, then said keys. ARGV number submission.
const DECIDED = `
if redis.call('ZREM', KEYS[1], ARGV[2]) == 1 then redis.call('ZADD', KEYS[3], ARGV[1], ARGV[2]) end
redis.call('ZREM', KEYS[2], ARGV[2])
for i = 4, #KEYS do redis.call('HDEL', KEYS[i], ARGV[1]) end
return 0
`

type RedisWithSettle = RedisClient & {
  settle(numberOfKeys: number, ...rest: (string | number)[]): Promise<0>
  purgeDecided(numberOfKeys: number, ...rest: (string | number)[]): Promise<0>
}

export type SettledSubmission = { workspaceId: string; submissionId: string; number: number; sayings: Sayings }
export type OpenBooks = {
  /** Takes submissions that Postgres has settled off the queue's books. */
  settle: (settled: readonly SettledSubmission[]) => Promise<void>
  /** Lets those go on that were accepted after these purges: whom they concern is decided. */
  decided: (purges: readonly SettledSubmission[]) => Promise<void>
}

/** Both can be repeated without harm. */
export const openBooksIn = (redis: RedisClient, prefix: string): OpenBooks => {
  redis.defineCommand('settle', { lua: SETTLE })
  redis.defineCommand('purgeDecided', { lua: DECIDED })
  const withSettle = redis as RedisWithSettle
  return {
    settle: async (settled) => {
      await Promise.all(
        [...Map.groupBy(settled, ({ workspaceId }) => workspaceId)].map(([workspaceId, submissions]) => {
          const { keys, told } = settleTold(admissionKeys(prefix, workspaceId), submissions)
          return withSettle.settle(keys.length, ...keys, ...told)
        }),
      )
    },
    decided: async (purges) => {
      await Promise.all(
        purges.map(({ workspaceId, submissionId, number, sayings }) => {
          const name = admissionKeys(prefix, workspaceId)
          const said = sayings.aboutKeys.map(({ keyId }) => name.said(keyId))
          const keys = [name.outstanding, name.purges, name.removing, ...said]
          return withSettle.purgeDecided(keys.length, ...keys, number, submissionId)
        }),
      )
    },
  }
}

/** What SETTLE_TOLD is told about submissions of one workspace. */
export const settleTold = (
  name: AdmissionKeys,
  submissions: readonly SettledSubmission[],
): { keys: string[]; told: (string | number)[] } => {
  const exists = submissions.flatMap(({ number, sayings }) =>
    sayings.newIds.flatMap(({ id, of }) => [`${number}:${of}`, id]),
  )
  const said = submissions.flatMap(({ number, sayings }) => sayings.aboutKeys.flatMap(({ keyId }) => [keyId, number]))
  return {
    keys: [name.outstanding, name.exists, name.purges, name.removing],
    told: [
      name.before.said,
      submissions.length,
      ...submissions.map(({ submissionId }) => submissionId),
      submissions.some(isPurge) ? 1 : 0,
      exists.length / 2,
      ...exists,
      ...said,
    ],
  }
}

const isPurge = ({ sayings }: SettledSubmission): boolean =>
  sayings.aboutKeys.some((about) => about.sayings.some(({ kind }) => kind === 'purge'))
