import { DomUtils, parseDocument } from 'htmlparser2'

const { getElementsByTagName } = DomUtils

/**
 * `failed` and `skipped` name the tests: the file, if the report has it, and the title. The message
 * of a failure follows. The title of a skipped test gives the reason (support/where.ts).
 */
export type TestCounts = {
  readonly passed: number
  readonly failed: readonly string[]
  readonly skipped: readonly string[]
}

type TestCase = {
  readonly suite: string
  readonly name: string
  readonly outcome: keyof TestCounts
  /** The message of a failure, if the report has one. */
  readonly message: string
}

const MOST_LINES = 30

/** Separates the titles of a group and of a test in it, in Deno's reports. */
const WITHIN = ' > '

/**
 * Counts the tests of a JUnit report of Bun or Deno. Deno reports groups like tests. A group counts
 * only if it fails and none of its tests does, as after an error in a hook. A file without a
 * reported test counts as a failure.
 */
export const countTests = (report: string, files: readonly string[]): TestCounts => {
  const cases = testCases(report)
  const counted = cases.filter((testCase) => isTest(testCase, cases))
  const reported = new Set(cases.map(({ suite }) => suite))
  const silent = files.filter((file) => !reported.has(withoutDot(file)))
  const ended = (outcome: keyof TestCounts): TestCase[] => counted.filter((testCase) => testCase.outcome === outcome)
  return {
    passed: ended('passed').length,
    failed: [
      ...ended('failed').map(({ suite, name, message }) => `${suite}: ${name}${indented(message)}`),
      ...silent.map((file) => `${file}: reported no test`),
    ],
    skipped: ended('skipped').map(({ suite, name }) => `${suite}: ${name}`),
  }
}

const isTest = (testCase: TestCase, cases: readonly TestCase[]): boolean => {
  const inside = cases.filter(({ suite, name }) => suite === testCase.suite && name.startsWith(testCase.name + WITHIN))
  if (inside.length === 0) return true
  return testCase.outcome === 'failed' && !inside.some(({ outcome }) => outcome === 'failed')
}

const testCases = (report: string): TestCase[] =>
  getElementsByTagName('testcase', parseDocument(report, { xmlMode: true })).map((element) => {
    const { file, classname, name = '' } = element.attribs
    const [failure] = getElementsByTagName((tag) => tag === 'failure' || tag === 'error', element)
    const isSkipped = getElementsByTagName('skipped', element).length > 0
    return {
      suite: withoutDot(file ?? classname ?? ''),
      name,
      outcome: failure ? 'failed' : isSkipped ? 'skipped' : 'passed',
      message: failure?.attribs['message'] ?? '',
    }
  })

/** Errors of hooks, which Bun prints but does not report. */
export const errorsBesideTests = (output: string): string[] =>
  [...output.matchAll(/^# (Unhandled error between tests)\n-+\n([\s\S]*?)\n-{9,}$/gm)].map(
    ([, what = '', error = '']) => `${what}${indented(error)}`,
  )

/** The first lines of a message. The summary of a run shows with them why a test failed. */
const indented = (message: string): string =>
  message
    .split('\n')
    .filter((line) => line !== '')
    .slice(0, MOST_LINES)
    .map((line) => `\n    ${line}`)
    .join('')

const withoutDot = (file: string): string => file.replace(/^\.\//, '')
