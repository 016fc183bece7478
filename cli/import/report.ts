import type { ImportSummary } from './import-file.ts'
import { describeLines, type Remark } from './lines.ts'
import type { Mapping, Target } from './mapping.ts'
import type { SourceFile } from './source-file.ts'
import type { Survey } from './survey.ts'

const MAX_LISTED = 1_000
const MAX_SHOWN_CHARACTERS = 500

/** A summary of the planned submissions, for a person to check. */
export const describePlan = (
  file: SourceFile,
  mapping: Mapping,
  { total, first, unreadable, skipped, doubts, shared }: Survey,
): string[] => {
  const besides = unreadable.length === 0 ? '' : `; unreadable rows: ${unreadable.length}`
  return [
    `${file.path}: ${total} ${mapping.kind}${besides}`,
    `  ${file.description}`,
    ...describeMapping(mapping),
    ...(first === undefined ? [] : [`The first, of ${describeLines(first.lines)}:`, `  ${shortened(first.body)}`]),
    ...describeSkipped(skipped),
    ...describeTogether(doubts, 'Check these rows before you send them:'),
    ...(shared.length === 0 ? [] : ['Many records share a key. Leave the column out if they are of strangers:']),
    ...shared.map((sentence) => `  ${sentence}`),
  ]
}

const describeMapping = ({ columns, constants, utc, layout }: Mapping): string[] => {
  const wide = Math.max(...columns.map(({ column }) => column.length), BY_DEFAULT.length)
  return [
    ...(layout === undefined ? [] : [`  The layout is ${layout}; --layout none turns it off.`]),
    ...columns.map(({ column, targets }) => {
      const fields = targets.map(describeTarget)
      return `  ${column.replace(/\s+/g, ' ').padEnd(wide)}  →  ${fields.length === 0 ? '(left out)' : fields.join(', ')}`
    }),
    ...constants.map(({ target, value }) => `  ${BY_DEFAULT.padEnd(wide)}  →  ${target.field} = ${value}`),
    ...(utc ? ['  Date-times without an offset, and days, are taken as UTC.'] : []),
  ]
}

/** A constant is the value of records without a value of their own. */
const BY_DEFAULT = '(default)'

const describeTarget = ({ field, trueFor, values = {} }: Target): string => {
  const cells = Object.entries(values).map(([cell, value]) => `${cell} is ${value}`)
  const also = [...(trueFor ? [`true for ${trueFor.join(', ')}`] : []), ...cells]
  return also.length === 0 ? field : `${field} (${also.join(', ')})`
}

const shortened = (body: string): string =>
  body.length <= MAX_SHOWN_CHARACTERS
    ? body
    : `${body.slice(0, MAX_SHOWN_CHARACTERS).toWellFormed()}… and ${body.length - MAX_SHOWN_CHARACTERS} characters more`

export const describeRefused = (rows: readonly Remark[], what: string): string[] => {
  const sorted = rows.toSorted((one, other) => one.lines[0]!.from - other.lines[0]!.from)
  return [
    ...(rows.length > 0 ? ['', `${rows.length} ${what}:`] : []),
    ...sorted.slice(0, MAX_LISTED).map(({ lines, reasons }) => `  ${describeLines(lines)}: ${reasons.join('; ')}`),
    ...(rows.length > MAX_LISTED
      ? [
          `  and ${rows.length - MAX_LISTED} more: ${describeLines(sorted.slice(MAX_LISTED).flatMap(({ lines }) => lines))}`,
        ]
      : []),
  ]
}

const describeSkipped = (rows: readonly Remark[]): string[] => describeTogether(rows, `Skipped rows (${rows.length}):`)

/** One line for each reason. */
const describeTogether = (rows: readonly Remark[], title: string): string[] => {
  const byReason = [...Map.groupBy(rows, ({ reasons }) => reasons.join('; '))]
  const listed = byReason.map(([reason, all]) => `  ${describeLines(all.flatMap(({ lines }) => lines))}: ${reason}`)
  return rows.length === 0 ? [] : [title, ...listed]
}

type Ended = ImportSummary & { readonly skipped: readonly Remark[]; readonly journalPath: string }

/** The outcome of each line. */
export const describeSummary = ({
  accepted,
  acceptedLines,
  before,
  refused,
  skipped,
  left,
  journalPath,
}: Ended): string[] => [
  [
    `${accepted} accepted${before === 0 ? '' : `, ${before} of them by earlier runs`}`,
    `${refused.length} refused`,
    ...(skipped.length === 0 ? [] : [`${skipped.length} skipped`]),
  ].join('; ') + '.',
  ...(acceptedLines.length === 0 ? [] : [`  accepted: ${describeLines(acceptedLines)}`]),
  ...(before > 0 && accepted === before && left === 0
    ? [
        `Earlier runs have sent all accepted records, as the journal ${journalPath} says. Delete it to import the file again.`,
      ]
    : []),
  ...describeSkipped(skipped),
  ...describeRefused(refused, 'refused'),
  ...(left === 0 ? [] : [`Stopped: ${left} records are left. Run the same command again to continue.`]),
]
