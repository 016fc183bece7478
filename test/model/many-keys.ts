import * as fc from 'fast-check'

/**
 * Occasionally so many keys that two submissions together exceed the bound of a contact or account.
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
