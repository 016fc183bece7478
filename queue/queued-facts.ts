import type { LookUpQueued, QueuedFacts, QueuedFactsByKey } from '../contract/identity/queued-facts.ts'
import type { Saying, Sayings } from '../contract/identity/sayings.ts'
import type { RedisClient } from './connect-redis.ts'
import { admissionKeys, compactId, readExistsValue } from './keys.ts'
import { luaScript } from './lua-script.ts'

const READ_FACTS = luaScript('read-facts', ['facts'])

/** As Redis answers: the value of exists, or an empty text, and sayings with their spans (lua/functions/facts.lua). */
export type RawFacts = [exists: string, saidInSpans: string[]][]

export const factsByKey = (ids: readonly string[], facts: RawFacts): QueuedFactsByKey =>
  new Map(
    ids.map((id, index) => {
      const [exists, saidInSpans] = facts[index]!
      const existing = exists === '' ? { existsFrom: null, of: null } : readExistsValue(exists)
      return [id, { ...existing, said: inOrder(saidInSpans) }]
    }),
  )

/** Sayings as they are kept. The most frequent ones have a letter. */
const sayingsText = (sayings: readonly Saying[]): string => {
  const text = JSON.stringify(sayings)
  return LETTERS.get(text) ?? text
}

/** The sayings of a submission as scripts take them. */
export const factsOf = ({ aboutKeys }: Sayings): { keyId: string; saying: string }[] =>
  aboutKeys.map(({ keyId, sayings }) => ({ keyId: compactId(keyId), saying: sayingsText(sayings) }))

const readSayings = (text: string): Saying[] => JSON.parse(TEXTS.get(text) ?? text) as Saying[]

const FREQUENT: Readonly<Record<string, Saying>> = {
  g: { kind: 'given', unless: null },
  r: { kind: 'remembered', unless: null },
}
const TEXTS = new Map(Object.entries(FREQUENT).map(([letter, saying]) => [letter, JSON.stringify([saying])]))
const LETTERS = new Map([...TEXTS].map(([letter, text]) => [text, letter]))

/** What was said more than once is told as it was said first and last: what was said in between adds nothing to these. */
const inOrder = (saidInSpans: readonly string[]): QueuedFacts['said'] => {
  const result: QueuedFacts['said'] = []
  for (let index = 0; index < saidInSpans.length; index += 2) {
    const sayings = readSayings(saidInSpans[index]!)
    for (const span of saidInSpans[index + 1]!.split(';')) {
      const [first, , last] = span.split(',')
      result.push({ number: Number(first), sayings })
      if (last !== undefined) result.push({ number: Number(last), sayings })
    }
  }
  return result.toSorted((a, b) => a.number - b.number)
}

/** Looks up what queued submissions say about keys, without a submission of its own. */
export const queuedFactsIn =
  (redis: RedisClient, prefix: string): LookUpQueued =>
  async (workspaceId, keyIds, { isWhole = false } = {}) => {
    if (keyIds.length === 0) return new Map()
    const { exists, facts, purges, never, before } = admissionKeys(prefix, workspaceId)
    const settings = [before.facts, isWhole ? 'whole' : 'most']
    return factsByKey(
      keyIds,
      (await redis.eval(
        READ_FACTS,
        4,
        exists,
        facts,
        purges,
        never,
        ...settings,
        ...keyIds.map(compactId),
      )) as RawFacts,
    )
  }
