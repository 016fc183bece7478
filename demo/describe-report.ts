import type { DemoReport, FeedbackInFull } from './demo-report.ts'

const LINE_CHARACTERS = 96

/** The report as text for a terminal. */
export const describeReport = ({ tables, tags, example }: DemoReport): string => {
  return [
    'Rows',
    ...align(tables.map(({ table, rows }) => [table, String(rows)])),
    '',
    'Most frequent tags',
    ...align(tags.map(({ tag, uses }) => [tag, String(uses)])),
    '',
    'One feedback in full',
    ...(example === undefined ? ['  none'] : describeFeedback(example)),
  ].join('\n')
}

/** Aligns names to the left and numbers to the right. */
const align = (rows: readonly [string, string][]): string[] => {
  const left = Math.max(...rows.map(([name]) => name.length), 0)
  const right = Math.max(...rows.map(([, value]) => value.length), 0)
  return rows.map(([name, value]) => `  ${name.padEnd(left)}  ${value.padStart(right)}`)
}

const describeFeedback = (feedback: FeedbackInFull): string[] => {
  const { tags, accepted_at: acceptedAt } = feedback
  const fields = flatten('', { ...feedback, tags: tags.join(', '), accepted_at: acceptedAt.toISOString() })
  const width = Math.max(...fields.map(([name]) => name.length))
  return fields.flatMap(([name, value]) =>
    wrap(value, LINE_CHARACTERS - width).map((line, at) => `  ${(at === 0 ? name : '').padEnd(width)}  ${line}`),
  )
}

/** Nested members with dotted names. */
const flatten = (prefix: string, value: object): [string, string][] => {
  return Object.entries(value).flatMap(([key, member]: [string, unknown]): [string, string][] => {
    if (typeof member === 'object' && member !== null) return flatten(`${prefix}${key}.`, member)
    return [[prefix + key, typeof member === 'string' ? member : JSON.stringify(member)]]
  })
}

const wrap = (text: string, width: number): string[] => {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
