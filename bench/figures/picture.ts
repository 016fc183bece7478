import { html, type Html } from '../../cli/report/html.ts'
import { describeFigure } from './measures.ts'
import type { Summary } from './statistics.ts'

/** The rates of one run, with so much there and with nothing there. */
export type Growth = { readonly amount: number; readonly withIt: Summary; readonly without: Summary }

const WIDTH = 640
const HEIGHT = 300
const LEFT = 64
const TOP = 48
const BOTTOM = 48
const APART = 14

const STYLE = `
  svg { font: 13px system-ui, sans-serif; fill: #24292f; background: #fff }
  line { stroke: #d0d7de } .ours line { stroke: #0969da; stroke-width: 3 } .beside line { stroke: #8c959f; stroke-width: 3 }
  .ours circle { fill: #0969da } .beside circle { fill: #8c959f }
  @media (prefers-color-scheme: dark) {
    svg { fill: #e6edf3; background: #0d1117 } line { stroke: #30363d }
    .ours line { stroke: #4493f8 } .ours circle { fill: #4493f8 }
  }`

/**
 * Draws rates that should not change with the amount: medians as dots, the least and the most as
 * lines.
 */
export const growthPicture = (title: string, there: string, growths: readonly Growth[]): string => {
  const top = niceTop(Math.max(...growths.flatMap(({ withIt, without }) => [withIt.most, without.most])))
  const heightOf = (value: number): number => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM)
  const step = (WIDTH - LEFT) / growths.length
  const placeOf = (at: number): number => LEFT + (at + 0.5) * step
  const spread = (x: number, { median, least, most }: Summary): Html =>
    html`<line x1="${x}" x2="${x}" y1="${heightOf(least)}" y2="${heightOf(most)}" /><circle
        cx="${x}"
        cy="${heightOf(median)}"
        r="5"
        ><title>
          ${describeFigure(median, '/s')} (${describeFigure(least, '/s')}–${describeFigure(most, '/s')})
        </title></circle
      >`
  const gridAt = (value: number): Html =>
    html`<line x1="${LEFT}" x2="${WIDTH}" y1="${heightOf(value)}" y2="${heightOf(value)}" /><text
        x="${LEFT - 8}"
        y="${heightOf(value) + 4}"
        text-anchor="end"
        >${value.toLocaleString('en')}</text
      >`
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">
    <style>
      ${STYLE}
    </style>
    <text x="8" y="20" font-weight="600">${title}</text>
    <g class="ours"><circle cx="${LEFT}" cy="34" r="5" /></g>
    <text x="${LEFT + 10}" y="38">${there}</text>
    <g class="beside"><circle cx="${LEFT + 240}" cy="34" r="5" /></g>
    <text x="${LEFT + 250}" y="38">none, in the same run</text>
    ${[0, top / 2, top].map(gridAt)}
    <g class="ours">${growths.map(({ withIt }, at) => spread(placeOf(at) + APART, withIt))}</g>
    <g class="beside">${growths.map(({ without }, at) => spread(placeOf(at) - APART, without))}</g>
    ${growths.map(
      ({ amount }, at) =>
        html`<text x="${placeOf(at)}" y="${HEIGHT - 20}" text-anchor="middle">${amount.toLocaleString('en')}</text>`,
    )}
  </svg>`.html
}

/** At least the value, and 1 for a run that was too short for any figure. */
const niceTop = (value: number): number => {
  if (value === 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 1.5, 2, 3, 5, 7.5, 10].map((factor) => factor * power).find((top) => top >= value)!
}
