import * as fc from 'fast-check'

/**
 * Now and then so many keys that two submissions say more about a contact or account than is kept
 * of it.
 */
const MANY_KEYS = 900
const manyFrom = (first: number, given: unknown): object =>
  Object.fromEntries(Array.from({ length: MANY_KEYS }, (_, index) => [`k${first + index}`, given]))
const many = fc.oneof(
  { weight: 10, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(0, 300, 600), fc.constantFrom(1, 'x', null)).map((args) => manyFrom(...args)),
  },
)
export const withMany = (properties: fc.Arbitrary<object>): fc.Arbitrary<object> =>
  fc.tuple(many, properties).map(([more, given]) => ({ ...more, ...given }))
