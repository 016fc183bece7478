import { atFirstUse } from '../runtime/at-first-use.ts'
import words from './data/en-words.json' with { type: 'json' }

/** The words of all lines. */
export const toSet = (lines: readonly string[]): ReadonlySet<string> =>
  new Set(lines.flatMap((line) => line.split(' ')))

/** The groups of English nouns by meaning. */
export const GROUPS = [
  'artifact',
  'food',
  'attribute',
  'act',
  'communication',
  'state',
  'possession',
  'person',
  'measure',
  'place',
  'object',
] as const

/** The words of the English dictionary. `compounds`: nouns of two words, such as hard drive. */
export const englishWords = atFirstUse(() => ({
  groupOf: new Map(
    GROUPS.flatMap((name, group) => [...toSet(words[name])].map((word): [string, number] => [word, group])),
  ),
  verbs: toSet(words.verb),
  adjectives: toSet(words.adjective),
  mostlyVerbs: toSet(words.mostlyVerb),
  mostlyAdjectives: toSet(words.mostlyAdjective),
  frequent: toSet(words.frequent),
  compounds: new Set([...toSet(words.compound)].map((compound) => compound.replace('_', ' '))),
}))
