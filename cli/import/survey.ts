import { checkBody } from '../../contract/check-body.ts'
import { parseJsonText } from '../../contract/json-text.ts'
import { MAX_DEPTH_LEVELS } from '../../contract/limits.ts'
import { Buffer } from 'node:buffer'
import { buildBodies, isRemark, type ImportSubmission } from './build-bodies.ts'
import { type Kind, RECORDS } from './kinds.ts'
import type { Lines, Remark } from './lines.ts'
import type { Mapping } from './mapping.ts'
import { createKeyCounts } from './shared-keys.ts'
import type { SourceFile } from './source-file.ts'

export type Survey = {
  /** The number of submissions in the file. */
  readonly total: number
  readonly first: ImportSubmission | undefined
  /** Rows that cannot become a submission. */
  readonly unreadable: readonly Remark[]
  readonly skipped: readonly Remark[]
  /** Doubts that a person should check before the import sends records. */
  readonly doubts: readonly Remark[]
  /** Weak keys that many records share, one sentence for each. */
  readonly shared: readonly string[]
  /** Rows that the service would refuse. Known only if bodies are checked. */
  readonly refused: readonly Remark[]
}

/**
 * Reads the whole file before the first request. `hasChecks`: whether to check each body as the
 * service does.
 */
export const surveyFile = (file: SourceFile, mapping: Mapping, hasChecks: boolean): Survey => {
  const unreadable: Remark[] = []
  const skipped: Remark[] = []
  const doubts: Remark[] = []
  const refused: Remark[] = []
  const repeated: Lines[] = []
  const withoutSource: Lines[] = []
  const ids = new Set<string>()
  const keys = createKeyCounts(mapping.kind)
  let first: ImportSubmission | undefined
  let total = 0
  for (const item of buildBodies(file.rows(), mapping)) {
    if (isRemark(item)) {
      const rows = item.isSkipped ? skipped : unreadable
      rows.push(item)
      continue
    }
    first ??= item
    total++
    doubts.push(...item.doubts)
    keys.count(item.record)
    // The parts of a long conversation share its id, and every conversation must have a source.
    if (item.id !== undefined && mapping.kind !== 'conversations') {
      if (ids.has(item.id)) repeated.push(...item.lines)
      ids.add(item.id)
      if (!item.hasSource) withoutSource.push(...item.lines)
    }
    const reasons = hasChecks ? problemsOf(item.body, mapping.kind) : []
    if (reasons.length > 0) refused.push({ lines: item.lines, reasons })
  }
  const ofIds = doubtsOfIds(mapping.kind, repeated, withoutSource)
  return { total, first, unreadable, skipped, doubts: [...doubts, ...ofIds], shared: keys.describe(total), refused }
}

const REPEATED = 'the id occurs more than once: these rows change the same record, one after the other'
const WITHOUT_SOURCE =
  'an id without a source can mean a record of another system with the same id: add --set source=NAME'

const doubtsOfIds = (kind: Kind, repeated: readonly Lines[], withoutSource: readonly Lines[]): Remark[] =>
  [
    { lines: repeated, reasons: [REPEATED] },
    // Accounts have no source.
    { lines: kind === 'accounts' ? [] : withoutSource, reasons: [WITHOUT_SOURCE] },
  ].filter(({ lines }) => lines.length > 0)

const problemsOf = (body: string, kind: Kind): string[] => {
  const { schema, maxBytes } = RECORDS[kind]
  if (Buffer.byteLength(body) > maxBytes) return [`the record has more than ${maxBytes / 1024} KiB`]
  const parsed = parseJsonText(body, MAX_DEPTH_LEVELS)
  if ('problem' in parsed) return [parsed.problem]
  const checked = checkBody(schema, parsed.value, { isStrict: true })
  return 'problems' in checked ? checked.problems.map(({ message }) => message) : []
}
