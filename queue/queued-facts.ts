import type { RedisClient } from './redis.ts'
import { admissionKeys } from './admission-keys.ts'
import type { Saying } from '../contract/identity/sayings.ts'
import type { LookUpQueued, QueuedFacts, QueuedFactsByKey } from '../contract/identity/queued-facts.ts'

/** As Redis answers: `number:of`, and the fields and values of what is said. */
export type RawFacts = [exists: string, said: string[]][]

export const factsByKey = (ids: readonly string[], facts: RawFacts): QueuedFactsByKey =>
  new Map(
    ids.map((id, index) => {
      const [exists, said] = facts[index]!
      const [from = '', of] = exists.split(':')
      return [id, { existsFrom: from === '' ? null : Number(from), of: of ?? null, said: inOrder(said) }]
    }),
  )

const inOrder = (fieldsAndValues: readonly string[]): QueuedFacts['said'] => {
  const result: QueuedFacts['said'] = []
  for (let index = 0; index < fieldsAndValues.length; index += 2) {
    const sayings = JSON.parse(fieldsAndValues[index + 1]!) as Saying[]
    result.push({ number: Number(fieldsAndValues[index]), sayings })
  }
  return result.toSorted((a, b) => a.number - b.number)
}

/** What queued submissions say about keys, for those who do not submit anything with the same question. */
export const queuedFactsIn =
  (redis: RedisClient, prefix: string): LookUpQueued =>
  async (workspaceId, keyIds) => {
    if (keyIds.length === 0) return new Map()
    const name = admissionKeys(prefix, workspaceId)
    const [exists, ...said] = await Promise.all([
      redis.hmget(name.exists, ...keyIds),
      ...keyIds.map((id) => redis.hgetall(name.said(id))),
    ])
    return factsByKey(
      keyIds,
      keyIds.map((_, index) => [exists[index] ?? '', Object.entries(said[index]!).flat()]),
    )
  }
