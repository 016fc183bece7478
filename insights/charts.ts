import { html, type Html } from './html.ts'

/** One place on the horizontal axis. `value` is null for a gap. */
export type ChartPoint = { readonly label: string; readonly value: number | null; readonly tooltip: string }

const WIDTH = 720
const HEIGHT = 190
const LEFT = 48
const TOP = 12
const BOTTOM = 24
const MOST_LABELS = 8
/** The empty part on each side of a column. */
const GAP_SHARE = 0.12
const SPARK = { width: 96, height: 22 }
const SHARES = [0, 1] as const

/** A chart of columns that begin at zero. */
export const columnChart = (title: string, points: readonly ChartPoint[]): Html => {
  const top = niceTop(Math.max(...points.map(({ value }) => value ?? 0)))
  const width = (WIDTH - LEFT) / Math.max(points.length, 1)
  const columns = points.map(({ value, tooltip }, at) => {
    const height = ((value ?? 0) / top) * (HEIGHT - TOP - BOTTOM)
    const x = LEFT + (at + GAP_SHARE) * width
    return html`<rect
      x="${x.toFixed(1)}"
      y="${(HEIGHT - BOTTOM - height).toFixed(1)}"
      width="${(width * (1 - 2 * GAP_SHARE)).toFixed(1)}"
      height="${height.toFixed(1)}"
      rx="2"
      ><title>${tooltip}</title></rect
    >`
  })
  return frame({ title, points, ends: [0, top], drawn: html`<g class="columns">${columns}</g>`, label: String })
}

/** A line of shares, from 0 to 100 %. A point without a value interrupts the line. */
export const shareChart = (title: string, points: readonly ChartPoint[]): Html => {
  const dots = points.flatMap(({ value, tooltip }, at) =>
    value === null ? [] : [{ at, tooltip, x: xOf(at, points.length), y: yOf(value, SHARES) }],
  )
  const path = dots
    .map(({ at, x, y }, index) => `${dots[index - 1]?.at === at - 1 ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`)
    .join('')
  const circles = dots.map(
    ({ x, y, tooltip }) =>
      html`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3.5"><title>${tooltip}</title></circle>`,
  )
  const drawn = html`<path class="line" d="${path}" /><g class="dots">${circles}</g>`
  return frame({ title, points, ends: SHARES, drawn, label: (share) => `${100 * share} %` })
}

/** Small columns from zero, without axes. */
export const sparkline = (title: string, values: readonly number[]): Html => {
  const top = Math.max(...values, 1)
  const width = SPARK.width / Math.max(values.length, 1)
  const columns = values.map((value, at) => {
    const height = (value / top) * SPARK.height
    return html`<rect
      x="${(at * width).toFixed(1)}"
      y="${(SPARK.height - height).toFixed(1)}"
      width="${Math.max(width - 1, 0.5).toFixed(1)}"
      height="${height.toFixed(1)}"
    />`
  })
  return html`<svg class="spark" viewBox="0 0 ${SPARK.width} ${SPARK.height}" role="img" aria-label="${title}">
    ${columns}
  </svg>`
}

type Frame = {
  readonly title: string
  readonly points: readonly ChartPoint[]
  readonly ends: readonly [number, number]
  readonly drawn: Html
  /** The text of a value at the vertical axis. */
  readonly label: (value: number) => string
}

const frame = ({ title, points, ends, drawn, label: labelOf }: Frame): Html => {
  const lines = [0, 0.5, 1].map((share) => {
    const value = ends[0] + share * (ends[1] - ends[0])
    const y = yOf(value, ends)
    return html`<line x1="${LEFT}" x2="${WIDTH}" y1="${y}" y2="${y}" /><text
        x="${LEFT - 6}"
        y="${y + 4}"
        text-anchor="end"
        >${labelOf(value)}</text
      >`
  })
  const every = Math.ceil(points.length / MOST_LABELS)
  const labels = points.flatMap(({ label }, at) =>
    at % every === 0
      ? [html`<text x="${xOf(at, points.length).toFixed(1)}" y="${HEIGHT - 6}" text-anchor="middle">${label}</text>`]
      : [],
  )
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">
    <g class="axis">${lines}${labels}</g>
    ${drawn}
  </svg>`
}

const xOf = (at: number, points: number): number => LEFT + ((WIDTH - LEFT) / Math.max(points, 1)) * (at + 0.5)

const yOf = (value: number, [low, high]: readonly [number, number]): number => {
  const share = (value - low) / (high - low)
  return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)
}

/**
 * The least of 2, 4, 6, 8, 10, 20, 40 … that is not below `most`. Its half, the label of the middle
 * line, is a whole number.
 */
const niceTop = (most: number): number => {
  for (let power = 1; ; power *= 10) {
    const found = [2, 4, 6, 8, 10].find((step) => step * power >= most)
    if (found !== undefined) return found * power
  }
}
