import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import * as v from 'valibot'
import type { FeedbackFilters } from '../../db/reads/filters.ts'
import type { Refusal } from '../http/refusal.ts'

/** What a cursor belongs to: a list with its filters and order. */
type ListIdentity = { filters: FeedbackFilters } & Readonly<Record<string, unknown>>

export const BAD_CURSOR: Refusal = {
  refused: 'invalid',
  problems: [
    { path: 'next', message: 'next must come from an answer for the same list, with the same filters and order' },
  ],
}

const FINGERPRINT_CHARACTERS = 16

const fingerprint = ({ filters, ...list }: ListIdentity): string => {
  // A client can give the parameters of the next page in another order.
  const fields = Object.entries(filters.fields ?? {}).toSorted(byName)
  const sorted = Object.entries({ ...filters, tag: filters.tag?.toSorted(), fields }).toSorted(byName)
  const text = JSON.stringify([list, sorted])
  return createHash('sha256').update(text).digest('hex').slice(0, FINGERPRINT_CHARACTERS)
}

const byName = ([one]: [string, unknown], [other]: [string, unknown]): number => (one < other ? -1 : 1)

export const writeCursor = (place: readonly (string | number)[], list: ListIdentity): string =>
  Buffer.from(JSON.stringify([...place, fingerprint(list)])).toString('base64url')

/** The place at which a list goes on; undefined if the cursor is malformed or of another list. */
export const readCursor = <Place>(
  text: string,
  place: v.GenericSchema<unknown, Place>,
  list: ListIdentity,
): Place | undefined => {
  try {
    const content = v.parse(v.array(v.unknown()), JSON.parse(Buffer.from(text, 'base64url').toString()))
    return content.at(-1) === fingerprint(list) ? v.parse(place, content.slice(0, -1)) : undefined
  } catch {
    return undefined
  }
}
