import type { BenchConfig } from '../bench-config.ts'
import type { JudgedLine } from './lines.ts'
import { describeFigure, type Measures, UNITS } from './measures.ts'
import type { Summary } from './statistics.ts'

const HEADINGS = ['', 'ours', 'beside it', 'ratio', 'at least', 'aim', ''] as const
const GAP = '  '

/** The table of a run: medians of its rounds, with the least and the most in brackets. */
export const describeLines = (config: BenchConfig, lines: readonly JudgedLine[]): string => {
  const rows = [HEADINGS, ...lines.map(rowOf)]
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const text = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join(GAP)
      .trimEnd(),
  )
  const { rounds, connections, seconds, drained } = config
  return [
    `Medians of ${rounds} rounds (least–most); ${connections} connections, ${seconds} s a load, ${drained} jobs a drain.`,
    'A ratio is that of each round, then the median. All servers, processes and the load share this machine.',
    '',
    ...text,
  ].join('\n')
}

const rowOf = ({
  what,
  ours,
  besides,
  judged,
  good,
  atLeast,
  aim,
  figure,
  beside,
  ratio,
  verdict,
}: JudgedLine): string[] => {
  const bound = (value: number | undefined): string => {
    if (value === undefined) return ''
    const sign = good === 'more' ? '≥' : '≤'
    return judged === 'ratio' ? `${sign} ${value} ×` : `${sign} ${describeFigure(value, UNITS[ours])}`
  }
  return [
    what,
    describeSummary(figure, UNITS[ours]),
    beside === undefined || besides === undefined ? '' : describeSummary(beside, UNITS[besides]),
    ratio === undefined ? '' : `${ratio.median.toFixed(2)} × (${ratio.least.toFixed(2)}–${ratio.most.toFixed(2)})`,
    bound(atLeast),
    bound(aim),
    verdict,
  ]
}

const describeSummary = ({ median, least, most }: Summary, unit: string): string =>
  `${describeFigure(median, unit)} (${bare(least)}–${bare(most)})`

const bare = (value: number): string => describeFigure(value, '').trimEnd()

/** Processor time per submission by process, ours beside the plain pipeline's. */
export const describeProcessorTime = (measures: Measures): string => {
  const rows = (['api', 'worker', 'Redis', 'Postgres'] as const).map((process) => {
    const [own] = measures.of(`processor time: ${process}`)
    if (own === undefined) return undefined
    const ours = median(measures.of(`processor time: ${process}`))
    const plain = median(measures.of(`plain pipeline, processor time: ${process}`))
    return `  ${process.padEnd(10)}${describeFigure(ours, 'µs').padStart(10)}${describeFigure(plain, 'µs').padStart(12)}`
  })
  const known = rows.filter((row) => row !== undefined)
  if (known.length === 0) return ''
  return ['Processor time per submission, end to end: ours, then the plain pipeline', ...known].join('\n')
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
