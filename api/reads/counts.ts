import * as v from 'valibot'
import type { CountRequest, FeedbackCounts, Group, GroupPlace } from '../../db/reads/counts.ts'
import type { Dimensions } from '../../db/reads/dimensions.ts'
import { isRefusal, type Refusal } from '../http/refusal.ts'
import { BAD_CURSOR, readCursor, writeCursor } from './cursor.ts'
import { findDeclared } from './declared-fields.ts'
import { COUNTS_PARAMETERS, DEFAULT_LIMIT, readQuery } from './parameters.ts'
import { type ReadAnswer, type ReadContext, withPermit } from './reads.ts'

/** GET /counts: feedback in total and in groups. */
export const readCounts = async (context: ReadContext): Promise<ReadAnswer> => {
  const query = readQuery(context.request, COUNTS_PARAMETERS)
  if (isRefusal(query)) return query
  const { by, order, limit = DEFAULT_LIMIT, next, ...filters } = query
  if (by === undefined) return NOTHING_TO_COUNT_BY
  const counts = await readCountPage(context, { by, order, filters, limit }, next)
  if (isRefusal(counts)) return counts
  const { total, top, cursor, unknownWords } = counts
  return { json: JSON.stringify({ total, counts: top.map((group) => countOf(group, by)), next: cursor, unknownWords }) }
}

/** The counts from a cursor on. `cursor`: leads to the next page; null at the end. */
export const readCountPage = async (
  context: ReadContext,
  { limit, ...list }: Omit<CountRequest, 'workspaceId' | 'after'>,
  next: string | undefined,
): Promise<(FeedbackCounts & { cursor: string | null }) | Refusal> => {
  const after = next === undefined ? undefined : readCursor(next, placeOf(list.by), list)
  if (next !== undefined && after === undefined) return BAD_CURSOR
  const found = await findDeclared(context, list)
  if (isRefusal(found)) return found
  const { workspaceId, dependencies } = context
  const counts = await withPermit(
    context,
    () => dependencies.countFeedback({ ...list, ...found, workspaceId, limit, after }),
    'countPermits',
  )
  return isRefusal(counts) ? counts : { ...counts, cursor: counts.next ? writeCursor(counts.next, list) : null }
}

const NOTHING_TO_COUNT_BY = {
  refused: 'invalid',
  problems: [{ path: 'by', message: 'by is missing: name what to count by, such as by=tag' }],
} as const

const placeOf = (by: Dimensions): v.GenericSchema<unknown, GroupPlace> =>
  v.strictTuple([v.number(), ...by.map(() => v.string())]) as never

/** The key of each dimension under its name, such as `account`, and its name as `accountName`. */
const countOf = ({ keys, ...figures }: Group, by: Dimensions): object => ({
  ...Object.fromEntries(keys.map(({ key }, at) => [by[at]!, key])),
  ...Object.fromEntries(keys.flatMap(({ name }, at) => (name === null ? [] : [[`${by[at]!}Name`, name] as const]))),
  ...figures,
})
