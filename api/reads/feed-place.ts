import * as v from 'valibot'
import type { FeedPlace } from '../../db/reads/changes.ts'

/**
 * A change position, or `POSITION-POSITION` as `next` has it while a consumer is on its first pass.
 */
export const feedPlace = v.pipe(
  v.string(),
  v.check((text) => /^\d{1,16}(?:-\d{1,16})?$/.test(text), 'a position, or the `next` of an answer'),
  v.transform((value): FeedPlace => {
    const [position, passSince] = value.split('-').map(Number)
    return { position: position!, passSince }
  }),
  v.check(
    ({ position, passSince = 0 }) => Number.isSafeInteger(position) && Number.isSafeInteger(passSince),
    'a position',
  ),
)
