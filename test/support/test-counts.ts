/** `failed` names them: the file, where the report has it, and the test. */
export type TestCounts = { readonly passed: number; readonly failed: readonly string[]; readonly skipped: number }

type TestCase = { readonly suite: string; readonly name: string; readonly outcome: keyof TestCounts }

/** Between the names of a group and of what is in it, in Deno's reports. */
const WITHIN = ' > '

/**
 * Counts the tests of a JUnit report as Bun and Deno write it. Deno reports groups as if they were tests: those count only
 * when they fail by themselves, as in a hook. A file that reports nothing could not be loaded, and counts as a failure.
 */
export const countTests = (report: string, files: readonly string[]): TestCounts => {
  const cases = testCases(report)
  const counted = cases.filter((one) => isTest(one, cases))
  const reported = new Set(cases.map(({ suite }) => suite))
  const silent = files.filter((file) => !reported.has(withoutDot(file)))
  const ended = (outcome: keyof TestCounts): TestCase[] => counted.filter((one) => one.outcome === outcome)
  return {
    passed: ended('passed').length,
    failed: [
      ...ended('failed').map(({ suite, name }) => `${suite}: ${name}`),
      ...silent.map((file) => `${file}: nothing`),
    ],
    skipped: ended('skipped').length,
  }
}

const isTest = (one: TestCase, cases: readonly TestCase[]): boolean => {
  const inside = cases.filter(({ name }) => name.startsWith(one.name + WITHIN))
  if (inside.length === 0) return true
  return one.outcome === 'failed' && !inside.some(({ outcome }) => outcome === 'failed')
}

const testCases = (report: string): TestCase[] => {
  return [...report.matchAll(/<testcase\s([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)].map(
    ([, attributes = '', body = '']) => ({
      suite: withoutDot(attribute(attributes, 'file') ?? attribute(attributes, 'classname') ?? ''),
      name: attribute(attributes, 'name') ?? '',
      outcome: /<(?:failure|error)\b/.test(body) ? 'failed' : /<skipped\b/.test(body) ? 'skipped' : 'passed',
    }),
  )
}

const attribute = (attributes: string, name: string): string | undefined => {
  return new RegExp(`(?:^|\\s)${name}="([^"]*)"`)
    .exec(attributes)?.[1]
    ?.replaceAll('&gt;', '>')
    .replaceAll('&lt;', '<')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
}

const withoutDot = (file: string): string => {
  return file.replace(/^\.\//, '')
}
