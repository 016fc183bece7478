import { html, type Html } from './html.ts'
import type { Satisfaction } from './report.ts'

export const table = (name: string, headings: readonly string[], rows: readonly Html[]): Html =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="${name}">
    <table>
      <thead>
        <tr>
          ${headings.map((heading) => html`<th scope="col">${heading}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`

export const number = (value: number | null): string => (value === null ? '–' : Math.round(value).toLocaleString('en'))
export const rating = (value: number | null): string =>
  value === null ? '–' : value.toLocaleString('en', { maximumFractionDigits: 2 })
export const percent = (share: number | null): string => (share === null ? '–' : `${Math.round(100 * share)} %`)
export const signed = (value: number): string => {
  const rounded = Math.round(value)
  return `${rounded > 0 ? '+' : ''}${rounded}`.replace('-', '−')
}

/** A mean with its count and the share of bad ones. */
export const scoreOf = ({ rated, satisfaction, bad }: Satisfaction): string =>
  satisfaction === null ? '–' : `${percent(satisfaction)} (${number(rated)} rated, ${percent(bad)} bad)`
