import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import * as v from 'valibot'
import type { Place } from '../../db/reads/lists.ts'

const content = v.strictTuple([
  v.pipe(v.string(), v.regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(?:\.\d{1,6})?$/)),
  v.pipe(v.string(), v.uuid()),
  v.string(),
])

const FINGERPRINT_CHARACTERS = 16

/** A cursor belongs to one list with its filters and order. */
const fingerprint = (list: object): string =>
  createHash('sha256').update(JSON.stringify(list)).digest('hex').slice(0, FINGERPRINT_CHARACTERS)

export const writeCursor = ({ at, id }: Place, list: object): string =>
  Buffer.from(JSON.stringify([at, id, fingerprint(list)])).toString('base64url')

/** The place at which a list goes on; undefined if the cursor belongs to another list. */
export const readCursor = (text: string, list: object): Place | undefined => {
  try {
    const [at, id, of] = v.parse(content, JSON.parse(Buffer.from(text, 'base64url').toString()))
    return of === fingerprint(list) ? { at, id } : undefined
  } catch {
    return undefined
  }
}
