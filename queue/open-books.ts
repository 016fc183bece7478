import type { Sayings } from '../contract/identity/sayings.ts'
import type { RedisClient } from './connect-redis.ts'
import { type AdmissionKeys, admissionKeys, existsValue } from './keys.ts'
import { luaScript } from './lua-script.ts'

const SETTLE = luaScript('settle', ['settle'])
const DECIDE_PURGE = luaScript('decide-purge')

type RedisWithSettle = RedisClient & {
  settle(numberOfKeys: number, ...rest: (string | number)[]): Promise<0>
  decidePurge(numberOfKeys: number, ...rest: (string | number)[]): Promise<0>
}

export type SettledSubmission = { workspaceId: string; submissionId: string; number: number; sayings: Sayings }
export type OpenBooks = {
  /** Takes submissions off the books that Postgres has settled. */
  settle: (settled: readonly SettledSubmission[]) => Promise<void>
  /** Releases the submissions that were accepted after these purges: it is decided whom the purges concern. */
  decided: (purges: readonly SettledSubmission[]) => Promise<void>
}

/** Both can be repeated without harm. */
export const openBooksIn = (redis: RedisClient, prefix: string): OpenBooks => {
  redis.defineCommand('settle', { lua: SETTLE })
  redis.defineCommand('decidePurge', { lua: DECIDE_PURGE })
  const withSettle = redis as RedisWithSettle
  return {
    settle: async (settled) => {
      await Promise.all(
        [...Map.groupBy(settled, ({ workspaceId }) => workspaceId)].map(([workspaceId, submissions]) => {
          const { keys, args } = settleArguments(admissionKeys(prefix, workspaceId), submissions)
          return withSettle.settle(keys.length, ...keys, ...args)
        }),
      )
    },
    decided: async (purges) => {
      await Promise.all(
        purges.map(({ workspaceId, submissionId, number, sayings }) => {
          const name = admissionKeys(prefix, workspaceId)
          const said = sayings.aboutKeys.map(({ keyId }) => name.said(keyId))
          const keys = [name.outstanding, name.purges, name.removing, ...said]
          return withSettle.decidePurge(keys.length, ...keys, number, submissionId)
        }),
      )
    },
  }
}

/** The `keys` and `args` of lua/functions/settle.lua for submissions of one workspace. */
export const settleArguments = (
  name: AdmissionKeys,
  submissions: readonly SettledSubmission[],
): { keys: string[]; args: (string | number)[] } => {
  const exists = submissions.flatMap(({ number, sayings }) =>
    sayings.newIds.flatMap(({ id, of }) => [existsValue(number, of), id]),
  )
  const said = submissions.flatMap(({ number, sayings }) => sayings.aboutKeys.flatMap(({ keyId }) => [keyId, number]))
  return {
    keys: [name.outstanding, name.exists, name.purges, name.removing],
    args: [
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
