import { GROUPS } from './english-words.ts'
import { canBeEdge, isNounLike, type Reading, wordAt } from './reading.ts'

/**
 * A phrase that the tag may write in another order than the text. `order` has the indices of its
 * words in the order of the tag, `end` its end in the text.
 */
export type Rearranged = { readonly order: readonly number[]; readonly end: number; readonly isEvent: boolean }

const FAILURES = new Set(['crash', 'freeze', 'decline', 'rejection', 'failure', 'lock-up', 'cancellation', 'duplicate'])
const BEFORE_FAILURE = new Set(
  'is was were are be been being has have had got get gets getting keep keeps kept just still always often sometimes also'.split(
    ' ',
  ),
)
const FAILING_GROUPS: ReadonlySet<number> = new Set(
  (['artifact', 'act', 'communication', 'possession'] as const).map((name) => GROUPS.indexOf(name)),
)
/** The most words of BEFORE_FAILURE between a subject and its failure. */
const MOST_BEFORE_FAILURE = 3

/** Stems of events that a joiner joins to their object: exports to CSV, import from Excel. */
const EVENTS: ReadonlySet<string> = new Set(
  'export import login download upload sync print scan convers migrat integr backup connect transfer'.split(' '),
)

/**
 * Finds two nouns in inverted order: `the quality of the pictures`: picture quality; `exports to
 * CSV`: csv export.
 */
export const findInverted = (reading: Reading, start: number): Rearranged | undefined => {
  const { traits } = reading
  const isEvent = EVENTS.has(traits[start]?.stem ?? '') && traits[start + 1]?.isJoiner === true
  if (!isEvent && wordAt(reading, start + 1) !== 'of') return undefined
  const modifier = traits[start + 2]?.isDeterminer === true ? start + 3 : start + 2
  const [noun, object] = [traits[start], traits[modifier]]
  if (noun === undefined || object === undefined || !canBeEdge(object)) return undefined
  if (!isNounLike(noun) || !isNounLike(object)) return undefined
  return { order: [modifier, start], end: modifier + 1, isEvent }
}

/** Words for the whole product. In `the app crashes` the topic is the crash. */
const WHOLE_PRODUCT: ReadonlySet<string> = new Set('app application program software it system site website'.split(' '))
/** Events whose subject is often the whole product. */
const ALONE = new Set(['crash', 'freeze', 'lock-up', 'logout', 'lag'])

/** Finds an event of the whole product, or without a subject: `the app crashes`: crash. */
export const findLoneEvent = (reading: Reading, start: number): Rearranged | undefined => {
  const token = reading.tokens[start]
  if (token?.kind !== 'word' || token.isEvent !== true || !ALONE.has(token.text)) return undefined
  let at = start - 1
  while (at >= start - MOST_BEFORE_FAILURE && BEFORE_FAILURE.has(wordAt(reading, at))) at--
  const thing = reading.traits[at]
  if (thing !== undefined && isNounLike(thing) && !WHOLE_PRODUCT.has(wordAt(reading, at))) return undefined
  return { order: [start], end: start + 1, isEvent: true }
}

/**
 * Finds a verb with its object: `scanning a receipt`: receipt scan; `exporting invoices`: invoice
 * export.
 */
export const findAction = (reading: Reading, start: number): Rearranged | undefined => {
  const token = reading.tokens[start]
  if (token?.kind !== 'word' || token.isEvent !== true || NO_ACTIONS.has(token.text)) return undefined
  const object = reading.traits[start + 1]?.isDeterminer === true ? start + 2 : start + 1
  let end = object
  while (end < object + 2 && isObject(reading, end)) end++
  if (end === object || isObject(reading, end)) return undefined
  return { order: [...range(object, end), start], end, isEvent: true }
}

/** Events whose tags do not name the object of the verb. */
const NO_ACTIONS = new Set([...FAILURES, 'payment', 'charge', 'login', 'sign-up', 'sign-in', 'logout'])

const isObject = ({ traits }: Reading, at: number): boolean => {
  const part = traits[at]
  return part !== undefined && isNounLike(part) && part.isListed
}

/** The indices from `start` to before `end`, by a loop, since this runs for each new phrase. */
export const range = (start: number, end: number): number[] => {
  const order: number[] = []
  for (let at = start; at < end; at++) order.push(at)
  return order
}

/**
 * Finds a subject with its failure: `the card was declined`: card decline; `exports keep failing`:
 * export failure.
 */
export const findFailure = (reading: Reading, start: number): Rearranged | undefined => {
  const noun = reading.traits[start]
  if (WHOLE_PRODUCT.has(wordAt(reading, start))) return undefined
  if (noun === undefined || !isNounLike(noun) || (!noun.isListed && !FAILING_GROUPS.has(noun.group))) return undefined
  const before = reading.traits[start - 1]
  // In `exports to CSV fail` the export fails, not CSV.
  if (before !== undefined && (isNounLike(before) || before.isModifier || before.isJoiner)) return undefined
  let at = start + 1
  while (at <= start + MOST_BEFORE_FAILURE && BEFORE_FAILURE.has(wordAt(reading, at))) at++
  return isFailure(reading, at) ? { order: [start, at], end: at + 1, isEvent: true } : undefined
}

export const isFailure = ({ tokens }: Reading, at: number): boolean => {
  const token = tokens[at]
  return token?.kind === 'word' && token.isEvent === true && FAILURES.has(token.text)
}
