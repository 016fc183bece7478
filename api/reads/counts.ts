import * as v from 'valibot'
import type { Dimensions, Group, GroupPlace } from '../../db/reads/counts.ts'
import { isRefusal } from '../http/refusal.ts'
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
  const list = { by, order, filters }
  const after = next === undefined ? undefined : readCursor(next, placeOf(by), list)
  if (next !== undefined && after === undefined) return BAD_CURSOR
  const found = await findDeclared(context, { filters, by })
  if (isRefusal(found)) return found
  const { workspaceId, dependencies } = context
  const counts = await withPermit(
    context,
    () => dependencies.countFeedback({ ...found, workspaceId, by, filters, order, limit, after }),
    'countPermits',
  )
  if (isRefusal(counts)) return counts
  const { total, top } = counts
  const cursor = counts.next === undefined ? null : writeCursor(counts.next, list)
  return { json: JSON.stringify({ total, counts: top.map((group) => countOf(group, by)), next: cursor }) }
}

const NOTHING_TO_COUNT_BY = {
  refused: 'invalid',
  problems: [{ path: 'by', message: 'by is missing: name what to count by, such as by=tag' }],
} as const

const placeOf = (by: Dimensions): v.GenericSchema<unknown, GroupPlace> =>
  v.strictTuple([v.number(), ...by.map(() => v.string())]) as never

/** The key of each dimension under its name, such as `account`, and its name as `accountName`. */
const countOf = ({ keys, ...figures }: Group, by: Dimensions): object => ({
  ...Object.fromEntries(
    keys.flatMap(({ key, name }, at) => [[by[at]!, key], ...(name === null ? [] : [[`${by[at]!}Name`, name]])]),
  ),
  ...figures,
})
