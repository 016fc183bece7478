/** The first and the last line of a row, from 1. */
export type Lines = { readonly from: number; readonly to: number }

/** Lines of a file, and why they are skipped, refused or doubtful. */
export type Remark = {
  readonly lines: readonly Lines[]
  readonly reasons: readonly string[]
  /** The import leaves the lines out without a complaint, such as blank rows. */
  readonly isSkipped?: boolean
}

const LINE_BREAK = /\r\n|\n|\r/g

export const countBreaks = (text: string): number => text.match(LINE_BREAK)?.length ?? 0

/** The most ranges in one line of the report. */
const MAX_RANGES = 40

/** Writes `line 2`, or `lines 2–4, 7`. Neighbours become one range. */
export const describeLines = (lines: readonly Lines[]): string => {
  const ranges = mergeLines(lines)
  const shown = ranges.slice(0, MAX_RANGES).map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`))
  const more = ranges.length > MAX_RANGES ? ` and ${ranges.length - MAX_RANGES} more ranges` : ''
  const isOne = ranges.length === 1 && ranges[0]!.from === ranges[0]!.to
  return `${isOne ? 'line' : 'lines'} ${shown.join(', ')}${more}`
}

export const mergeLines = (lines: readonly Lines[]): Lines[] => {
  const merged: Lines[] = []
  for (const { from, to } of lines.toSorted((one, other) => one.from - other.from)) {
    const last = merged.at(-1)
    if (last !== undefined && from <= last.to + 1)
      merged[merged.length - 1] = { from: last.from, to: Math.max(to, last.to) }
    else merged.push({ from, to })
  }
  return merged
}
