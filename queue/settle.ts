import { Cluster } from 'ioredis'
import type { Sayings } from '../contract/identity/sayings.ts'
import { IDEMPOTENCY_SECONDS } from '../contract/limits.ts'
import type { Batch } from './batch.ts'
import type { RedisClient } from './connect-redis.ts'
import { admissionKeys, compactId, existsValue, keysOfScript } from './keys.ts'
import { luaScript } from './lua-script.ts'
import { factsOf } from './queued-facts.ts'

export const SETTLE = luaScript('settle', ['facts', 'existing', 'keep-for'])
const DECIDE_PURGE = luaScript('decide-purge', ['facts'])

type RedisWithSettle = RedisClient & {
  settle(numberOfKeys: number, ...rest: (string | number)[]): Promise<0>
  decidePurge(numberOfKeys: number, ...rest: (string | number)[]): Promise<0 | 1>
}

/** A batch with what each of its submissions says, in their order. */
export type Settled = { batch: Batch; sayings: readonly Sayings[] }

/** Takes batches off the books that Postgres has settled; nothing is left of them but their idempotency keys. Harmless to repeat. */
export const settlingIn = (redis: RedisClient, prefix: string): ((settled: readonly Settled[]) => Promise<void>) => {
  redis.defineCommand('settle', { lua: SETTLE })
  const settlePortion = (portion: readonly Settled[]): Promise<0> => {
    const { keys } = keysOfScript(prefix, portion[0]!.batch.workspaceId)
    const ofEach = [...Map.groupBy(portion, workspaceOf)].flatMap(([workspaceId, own]) => [
      keysOfScript(prefix, workspaceId).begin,
      own.length,
      ...own.flatMap(settledArguments),
    ])
    return (redis as RedisWithSettle).settle(keys.length, ...keys, IDEMPOTENCY_SECONDS, ...ofEach)
  }
  return async (settled) => {
    // On a cluster, each workspace may be in another slot.
    await Promise.all(inPortions(settled, { isApart: redis instanceof Cluster }).map(settlePortion))
  }
}

const workspaceOf = ({ batch }: Settled): string => batch.workspaceId

/** A batch in the arguments of settle.lua. */
const settledArguments = ({ batch: { batchId, submissions }, sayings }: Settled): (string | number)[] => {
  const numbers = submissions.map(({ submission }) => submission.number)
  const keys = submissions.flatMap(({ idempotency }) => idempotency?.key ?? [])
  const exists = sayings.flatMap(({ newIds }, at) =>
    newIds.flatMap(({ id, of }) => [existsValue(numbers[at]!, of), compactId(id)]),
  )
  const facts = sayings.flatMap((said, at) =>
    factsOf(said).flatMap(({ keyId, saying }) => [keyId, saying, numbers[at]!]),
  )
  const keysText = keys.length === 0 ? '' : [numbers.at(-1), ...keys].join(' ')
  return [batchId, submissions.length, keysText, exists.length / 2, facts.length / 3, ...exists, ...facts]
}

/** What one call settles at most, roughly, in sayings: Redis answers nobody else meanwhile. A workspace takes as long as so many. */
const SETTLED_AT_ONCE = 1_000
const LIKE_A_WORKSPACE = 20

/** `isApart`: each workspace has calls of its own. */
const inPortions = (settled: readonly Settled[], { isApart }: { isApart: boolean }): Settled[][] => {
  const portions: Settled[][] = []
  let weight = Infinity
  for (const own of Map.groupBy(settled, workspaceOf).values()) {
    weight += isApart ? Infinity : LIKE_A_WORKSPACE
    for (const one of own) {
      const added = one.sayings.reduce((sum, { newIds, aboutKeys }) => sum + 1 + newIds.length + aboutKeys.length, 0)
      weight += added
      if (weight > SETTLED_AT_ONCE) {
        portions.push([])
        weight = LIKE_A_WORKSPACE + added
      }
      portions.at(-1)!.push(one)
    }
  }
  return portions
}

/** Releases the submissions that were accepted after these purges: it is decided whom the purges concern. Harmless to repeat. */
export const decidingIn = (redis: RedisClient, prefix: string): ((purges: readonly Settled[]) => Promise<void>) => {
  redis.defineCommand('decidePurge', { lua: DECIDE_PURGE })
  return async (purges) => {
    await Promise.all(
      purges.map(({ batch: { workspaceId, batchId, number }, sayings }) => {
        const name = admissionKeys(prefix, workspaceId)
        const keys = [name.outstanding, name.purges, name.removing, name.facts, name.never]
        const facts = sayings.flatMap(factsOf).flatMap(({ keyId, saying }) => [keyId, saying])
        const settings = [name.before.facts, batchId, number]
        return (redis as RedisWithSettle).decidePurge(keys.length, ...keys, ...settings, ...facts)
      }),
    )
  }
}
