import { Buffer } from 'node:buffer'
import type { Figures } from '../db/reads/counts.ts'
import { html, type Html } from './html.ts'

export const NONE = '–'
export const number = (value: number | null): string => (value === null ? NONE : Math.round(value).toLocaleString('en'))
export const decimal = (value: number | null | undefined): string =>
  value == null ? NONE : value.toLocaleString('en', { maximumFractionDigits: 2 })
export const percent = (share: number | null): string => (share === null ? NONE : `${Math.round(100 * share)} %`)
export const signed = (value: number): string => {
  const rounded = Math.round(value)
  return `${rounded > 0 ? '+' : ''}${rounded.toLocaleString('en')}`.replace('-', '−')
}
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`

/** The change of a number, in percent. */
export const changeOf = (before: number, after: number): string => {
  if (before === 0) return after === 0 ? '' : 'new'
  return `${signed((100 * (after - before)) / before)} %`
}
export const badOf = ({ bad, rated }: Figures): number => Math.round((bad ?? 0) * rated)

export const dayOf = (time: string): string => time.slice(0, 10)
export const timeOf = (time: string): Html =>
  html`<time datetime="${time}">${time.slice(0, 16).replace('T', ' ')}</time>`

/** The bytes of the parts of a page have bounds, so that a page has at most 100 kB. */
export const LABEL_BYTES = 120
export const QUOTE_BYTES = 1_200
const ESCAPED: Readonly<Record<string, number>> = { '&': 5, '<': 4, '>': 4, '"': 6, "'": 5 }

const bytesOf = (character: string): number => {
  const code = character.codePointAt(0)!
  return ESCAPED[character] ?? (code < 0x80 ? 1 : code < 0x8_00 ? 2 : code < 0x1_00_00 ? 3 : 4)
}

/** The beginning of a text that takes at most so many bytes of HTML. */
export const cut = (text: string, mostBytes: number = LABEL_BYTES): string => {
  let bytes = 0
  let at = 0
  for (const character of text) {
    bytes += bytesOf(character)
    if (bytes > mostBytes) return `${text.slice(0, at)}…`
    at += character.length
  }
  return text
}

/** A name from outside, in its own direction of writing. */
export const label = (text: string): Html => html`<bdi>${cut(text)}</bdi>`

export type ShownColumn = { readonly name: string; readonly isText?: boolean }

/** Long names make long addresses. A table ends before the row that would not fit. */
const TABLE_BYTES = 45_000
/** For pages with several tables. */
export const HALF_TABLE_BYTES = 22_000
export const SMALL_TABLE_BYTES = 10_000

/** The first parts that have at most so many bytes together. */
export const thatFit = (parts: readonly Html[], mostBytes: number): Html[] => {
  let bytes = 0
  return parts.filter((part) => (bytes += Buffer.byteLength(part.html)) <= mostBytes)
}

/** A table that becomes cards on a phone. Each cell has the name of its column there. */
export const table = (
  { name, mostBytes = TABLE_BYTES }: { name: string; mostBytes?: number | undefined },
  columns: readonly ShownColumn[],
  rows: readonly (readonly Html[])[],
): Html => {
  const body = rows.map(
    ([first, ...cells]) =>
      html`<tr>
        <th scope="row">${first!}</th>
        ${cells.map((cell, at) => html`<td data-name="${columns[at + 1]!.name}">${cell}</td>`)}
      </tr> `,
  )
  const shown = thatFit(body, mostBytes)
  const left = rows.length - shown.length
  return html`<table class="cards">
    <caption>
      ${name}
    </caption>
    <thead>
      <tr>
        ${columns.map((column) => html`<th scope="col">${column.name}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${shown}
    </tbody>
    ${
      left === 0
        ? html``
        : html`<tfoot>
            <tr>
              <td colspan="${columns.length}">
                ${plural(left, 'more row')}, left out since the page would be too large.
              </td>
            </tr>
          </tfoot>`
    }
  </table>`
}

/** A value as a column of a table shows it, with a bar. */
export const bar = (shown: Html, share: number): Html =>
  html`<span class="bar"
    ><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect width="${(100 * Math.min(Math.max(share, 0), 1)).toFixed(1)}" height="10" rx="1" /></svg
    >${shown}</span
  >`

export const tile = (name: string, value: Html, note: Html | string): Html =>
  html`<div>
    <h2>${name}</h2>
    <p class="figure">${value}</p>
    <p class="note">${note}</p>
  </div>`
