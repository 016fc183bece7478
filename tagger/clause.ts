import type { WordTraits } from './lexicon.ts'
import type { Reading } from './reading.ts'

/** The greatest distance in words between a failure or negation and its object. */
const FAILURE_REACH = 3
/** The length of a clause of circumstances. */
const ASIDE_REACH = 8

export const isLeading = ({ traits }: Reading, start: number): boolean => {
  const before = traits[start - 1]
  return before === undefined || (before.isDeterminer && traits[start - 2] === undefined)
}

export const isFailing = ({ traits }: Reading, end: number): boolean => {
  for (let at = end; at < end + FAILURE_REACH; at++) {
    const after = traits[at]
    if (after === undefined) return false
    if (after.isTrouble) return true
    if (!after.isStop && !after.isBeforeVerb && !after.isFiller && !after.isOther) return false
  }
  return false
}

export const isDenied = (reading: Reading, start: number): boolean =>
  isBefore(reading, { start, reach: FAILURE_REACH }, ({ isTrouble }) => isTrouble)

export const isAside = (reading: Reading, start: number): boolean =>
  isBefore(reading, { start, reach: ASIDE_REACH }, ({ isAside: is }) => is)

const isBefore = (
  { traits }: Reading,
  { start, reach }: { start: number; reach: number },
  is: (word: WordTraits) => boolean,
): boolean => {
  for (let at = start - 1; at >= start - reach; at--) {
    const before = traits[at]
    if (before === undefined) return false
    if (is(before)) return true
  }
  return false
}

export const isLocated = ({ traits }: Reading, start: number): boolean => {
  const before = traits[start - 1]
  return before?.isPlace === true || (before?.isDeterminer === true && traits[start - 2]?.isPlace === true)
}
