import type { LookUpQueued, QueuedFacts, QueuedFactsByKey } from '../contract/identity/queued-facts.ts'
import type { Saying } from '../contract/identity/sayings.ts'
import type { RedisClient } from './connect-redis.ts'
import { admissionKeys, readExistsValue } from './keys.ts'

/** As Redis answers: the value of exists, or an empty text, and the fields and values of said. */
export type RawFacts = [exists: string, said: string[]][]

export const factsByKey = (ids: readonly string[], facts: RawFacts): QueuedFactsByKey =>
  new Map(
    ids.map((id, index) => {
      const [exists, said] = facts[index]!
      const existing = exists === '' ? { existsFrom: null, of: null } : readExistsValue(exists)
      return [id, { ...existing, said: inOrder(said) }]
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

/** Looks up what queued submissions say about keys, without a submission of its own. */
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
