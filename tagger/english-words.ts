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

export const GROUP_OF = new Map(
  GROUPS.flatMap((name, group) => [...toSet(words[name])].map((word): [string, number] => [word, group])),
)
export const ENGLISH_VERBS = toSet(words.verb)
export const ENGLISH_ADJECTIVES = toSet(words.adjective)
export const MOSTLY_VERBS = toSet(words.mostlyVerb)
export const MOSTLY_ADJECTIVES = toSet(words.mostlyAdjective)
export const FREQUENT = toSet(words.frequent)
/** Nouns of two words in a dictionary: hard drive. */
export const ENGLISH_COMPOUNDS: ReadonlySet<string> = new Set(
  [...toSet(words.compound)].map((compound) => compound.replace('_', ' ')),
)
