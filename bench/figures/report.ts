import type { BenchConfig } from '../bench-config.ts'
import type { JudgedLine } from './lines.ts'
import { describeFigure, KINDS, type Measures, PROCESSES, UNITS } from './measures.ts'
import { type Summary, summarise } from './statistics.ts'

const HEADINGS = ['', 'ours', 'compared with', 'ratio', 'required', 'aim', ''] as const
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
  const { rounds, connections, seconds } = config
  return [
    `Medians of ${rounds} rounds (least–most); ${connections} connections; a usual load lasts ${seconds} s.`,
    'A ratio is the median of the ratios of the rounds. All servers, processes and the load share this machine.',
    '',
    ...text,
  ].join('\n')
}

const rowOf = ({
  what,
  ours,
  compared,
  judged,
  good,
  required,
  aim,
  figure,
  comparedFigure,
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
    comparedFigure === undefined || compared === undefined ? '' : describeSummary(comparedFigure, UNITS[compared]),
    ratio === undefined ? '' : `${ratio.median.toFixed(2)} × (${ratio.least.toFixed(2)}–${ratio.most.toFixed(2)})`,
    bound(required),
    bound(aim),
    verdict,
  ]
}

const describeSummary = ({ median, least, most }: Summary, unit: string): string =>
  `${describeFigure(median, unit)} (${bare(least)}–${bare(most)})`

const bare = (value: number): string => describeFigure(value, '').trimEnd()

/**
 * Processor time per submission by process: of the service, and of the plain pipeline. Empty if
 * none was measured.
 */
export const describeProcessorTime = (measures: Measures): string => {
  const rows = PROCESSES.flatMap((process) => {
    const ours = measures.of(`processor time: ${process}`)
    const plain = measures.of(`plain pipeline, processor time: ${process}`)
    return ours.length === 0 ? [] : `  ${process.padEnd(10)}${microseconds(ours)}${microseconds(plain)}`
  })
  if (rows.length === 0) return ''
  return ['Processor time per submission, end to end: ours, then the plain pipeline', ...rows].join('\n')
}

/** Processor time per submission by kind and process. Empty if none was measured. */
export const describeKinds = (measures: Measures): string => {
  const rows = KINDS.flatMap((kind) => {
    const all = measures.of(`${kind}: processor time`)
    if (all.length === 0) return []
    const rate = describeFigure(summarise(measures.of(`${kind}: end to end`)).median, '/s')
    const processes = PROCESSES.map((process) => microseconds(measures.of(`${kind}: ${process}`)))
    return `  ${kind.padEnd(38)}${rate.padStart(10)}${microseconds(all)}${processes.join('')}`
  })
  if (rows.length === 0) return ''
  const headings = ['all', ...PROCESSES].map((heading) => heading.padStart(12)).join('')
  return ['Processor time per submission, end to end, everything on', `  ${''.padEnd(48)}${headings}`, ...rows].join(
    '\n',
  )
}

const microseconds = (values: readonly number[]): string =>
  (values.length === 0 ? '' : describeFigure(summarise(values).median, 'µs')).padStart(12)
