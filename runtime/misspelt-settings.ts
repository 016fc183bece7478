import { type Environment, SECRETS, SETTINGS } from './settings.ts'

/** All variables that the service reads, except those of the tests and of the benchmark. */
const KNOWN: readonly string[] = [
  ...Object.keys(SETTINGS),
  ...SECRETS.map((name) => `${name}_FILE`),
  'DATA_DIR',
  'FEEDBACK_URL',
  'FEEDBACK_TOKEN',
]

/** Two letters may differ in a long name, and one in a shorter name. Very short names are too alike. */
const LONG = 10
const SHORT = 6

type MisspeltSetting = { given: string; meant: string }

/** Variables that are no settings, but whose names are close to the name of a setting. */
export const findMisspelt = (environment: Environment): MisspeltSetting[] =>
  Object.keys(environment)
    .filter((name) => environment[name] && !KNOWN.includes(name))
    .flatMap((given) => {
      const plain = given.toUpperCase().replaceAll('-', '_')
      const meant = KNOWN.find((name) => isClose(plain, name))
      return meant === undefined ? [] : [{ given, meant }]
    })

export const describeMisspelt = ({ given, meant }: MisspeltSetting): string =>
  `${given} is not a setting, and is ignored. Did you mean ${meant}?`

const isClose = (given: string, name: string): boolean => {
  if (given === name) return true
  const most = name.length >= LONG ? 2 : name.length >= SHORT ? 1 : 0
  return Math.abs(given.length - name.length) <= most && distance(given, name) <= most
}

/** How many letters have to be inserted, removed or replaced (Levenshtein). */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...b].entries())
      next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + (letter === other ? 0 : 1)))
    row = next
  }
  return row[b.length]!
}
