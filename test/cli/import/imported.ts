import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { it } from 'node:test'
import { buildBodies, isRemark, type ImportSubmission } from '../../../cli/import/build-bodies.ts'
import { describeLines } from '../../../cli/import/lines.ts'
import { type MappingOptions, planMapping } from '../../../cli/import/mapping.ts'
import { describePlan } from '../../../cli/import/report.ts'
import { openText, type SourceOptions } from '../../../cli/import/source-file.ts'
import { surveyFile } from '../../../cli/import/survey.ts'

export type ImportOptions = Partial<MappingOptions> & SourceOptions

/** The outcome of an import without a service. */
type Imported = {
  readonly bodies: readonly unknown[]
  /** The bodies as written. */
  readonly texts: readonly string[]
  /** The lines of each body. */
  readonly lines: readonly string[]
  readonly refused: readonly string[]
  readonly skipped: readonly string[]
  readonly doubts: readonly string[]
  readonly plan: string
}

export const imported = (name: string, content: string | Uint8Array, options: ImportOptions = {}): Imported => {
  const file = openText(name, typeof content === 'string' ? Buffer.from(content) : content, options)
  const mapping = planMapping(file, { map: [], 'map-value': [], set: [], 'keep-rest': false, utc: false, ...options })
  const survey = surveyFile(file, mapping, true)
  const made = [...buildBodies(file.rows(), mapping)].filter((item): item is ImportSubmission => !isRemark(item))
  const described = ({ lines, reasons }: (typeof survey.skipped)[number]): string =>
    `${describeLines(lines)}: ${reasons.join('; ')}`
  return {
    bodies: made.map(({ body }) => JSON.parse(body) as unknown),
    texts: made.map(({ body }) => body),
    lines: made.map(({ lines }) => describeLines(lines)),
    refused: [...survey.unreadable, ...survey.refused].map(described),
    skipped: survey.skipped.map(described),
    doubts: survey.doubts.map(described),
    plan: describePlan(file, mapping, survey).join('\n'),
  }
}

/** A file, the parts of its outcome that matter, and the options of the import. */
export type Case = readonly [
  title: string,
  content: string | Uint8Array,
  Partial<Imported>,
  options?: ImportOptions & { name?: string },
]

/** A test for each case. */
export const itImports = (cases: readonly Case[]): void => {
  for (const [title, content, expected, { name = 'x.csv', ...options } = {}] of cases)
    it(title, () => {
      const found = imported(name, content, options)
      for (const [key, value] of Object.entries(expected)) assert.deepEqual(found[key as keyof Imported], value, key)
    })
}
