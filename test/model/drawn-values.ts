import * as fc from 'fast-check'

// The values of random histories: so few that many submissions name the same contacts and records.

export const EXTERNAL_IDS = ['1', '2', '3']
export const SOURCES = ['API', 'crm', 'desk']
export const EMAILS = ['ann@example.org', 'bob@example.org', 'user-7@intranet']
export const NAMES = ['Ann', 'Bob', 'Acme Inc']
export const DOMAINS = ['acme.example', 'bob.example', 'intranet']

/** In canonical form, each equals a value above or another value of its list. */
const EMAILS_ALIKE = [
  'Ann <MAILTO:Ann@Example.org> ',
  '\u200fBOB@example.org',
  'ren\u00e9@x.example',
  'rene\u0301@x.example',
]
const DOMAINS_ALIKE = ['https://www.ACME.example/pricing?x=1', ' bob.example. ', 'http://intranet', 'intranet\u200b ']
const NAMES_ALIKE = ['\u00a0Bob ', '\u200bAcme \u00a0Inc', 'Soci\u00e9t\u00e9', 'Socie\u0301te\u0301']
/** Similar to other values, but different emails: only ASCII letters are folded. */
const EMAILS_APART = ['kim@example.org', '\u212aim@example.org']
/** Emails that are no addresses, and so no keys. */
const NO_ADDRESSES = ['user-7', 'USER-7', 'keine', '@ann', 'ann@', 'a@b@example.org', 'null@null', 'guest@example.org']
/** Values that count as absent. */
const ABSENT = [
  '',
  ' ',
  'N/A',
  'undefined',
  ' Null\u200b',
  '0',
  '-',
  '\\N',
  '#N/A',
  '(null)',
  '<NA>',
  '{{ticket.email}}',
]

export const oneOf = <T>(values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values)
export const nullOr = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 6 })

/** Any members may be missing, except required ones. */
export const body = <T extends object, K extends keyof T>(
  members: { [M in keyof T]: fc.Arbitrary<T[M]> },
  required: K[],
) => fc.record(members, { requiredKeys: required, noNullPrototype: true })

export const email = fc.oneof(
  { weight: 10, arbitrary: oneOf(EMAILS) },
  { weight: 4, arbitrary: oneOf(EMAILS_ALIKE) },
  { weight: 1, arbitrary: oneOf(EMAILS_APART) },
  { weight: 2, arbitrary: oneOf(NO_ADDRESSES) },
  { weight: 1, arbitrary: oneOf(ABSENT) },
)
export const domain = fc.oneof(
  { weight: 8, arbitrary: oneOf(DOMAINS) },
  { weight: 3, arbitrary: oneOf([...DOMAINS_ALIKE, 'Intranet']) },
  { weight: 1, arbitrary: oneOf([...ABSENT, 'http://', 'https://unknown/']) },
)
export const name = fc.oneof(
  { weight: 8, arbitrary: oneOf(NAMES) },
  { weight: 2, arbitrary: oneOf([...NAMES_ALIKE, 'ann']) },
  { weight: 1, arbitrary: oneOf(ABSENT) },
)
export const externalId = oneOf(EXTERNAL_IDS)
export const source = oneOf(SOURCES)
export const flag = nullOr(fc.boolean())
export const number = oneOf([0, 1, 2.5, -3])
/** In the order of time; the first two are the same instant. */
export const dateTime = oneOf([
  '2026-01-01T00:00:00Z',
  '2026-01-01T02:00:00+02:00',
  '2026-01-01T00:00:00.5Z',
  '2026-02-01t12:00:00.125-00:30',
  '2026-02-01T12:40:00Z',
])
export const value = oneOf([1, 2, 'x', true, null, [], { deep: 1 }, { 'e.f': 2 }])
/** Free members, also one with the name `__proto__`. */
export const free = fc
  .uniqueArray(fc.tuple(oneOf(['plan', 'a', 'a.b', 'a.c', 'name', '$name', '$plan', '__proto__']), value), {
    maxLength: 4,
    selector: ([key]) => key,
  })
  .map((members) => Object.fromEntries(members))

const MANY_KEYS = 900
const manyFrom = (first: number, given: unknown): object =>
  Object.fromEntries(Array.from({ length: MANY_KEYS }, (_, index) => [`k${first + index}`, given]))
/**
 * Occasionally so many keys that two submissions together exceed the bound of a contact or account.
 */
export const withMany = (properties: fc.Arbitrary<object>): fc.Arbitrary<object> =>
  fc.oneof(
    { weight: 10, arbitrary: properties },
    {
      weight: 1,
      arbitrary: fc
        .tuple(properties, oneOf([0, 300, 600]), oneOf([1, 'x', null]))
        .map(([given, ...many]) => ({ ...manyFrom(...many), ...given })),
    },
  )
