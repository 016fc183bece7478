import type { JsonObject } from '../contract/json.ts'
import { html, type Html } from './html.ts'
import type { InsightReads } from './reads.ts'
import type { ViewQuery, View } from './view.ts'

/** Where pages are shown, and to whom. */
export type Site = {
  /** The name of the workspace. */
  readonly workspace: string
  readonly now: Date
  /** The address of a page. A file has none: there, no figure is a link. */
  readonly address: ((path: string, query?: ViewQuery) => string) | undefined
  /** Whether the reader may correct records, and whether also delete them and set sources. */
  readonly may: { readonly edit: boolean; readonly administer: boolean }
  /** Proves that a form is of this site. */
  readonly formToken: string
}

/** A page on its way: who reads it, what the address asks for, and what to read from. */
export type PageAsked = { readonly site: Site; readonly view: View; readonly reads: InsightReads }
export type InsightPage = { readonly title: string; readonly main: Html }
/** A problem of the address, or of the record that it names. */
export type NoPage = { readonly status: 400 | 404; readonly problems: readonly string[] }
export const NO_RECORD: NoPage = { status: 404, problems: ['There is no such record in this workspace.'] }

/** The query as the end of an address. */
export const queryText = (query: ViewQuery): string => {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    for (const each of typeof value === 'string' ? [value] : value) parameters.append(name, each)
  }
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

type LinkTarget = { path: string; query?: ViewQuery | undefined }

/** A link to a page; in a file, its text alone. */
export const linkTo = ({ address }: Site, { path, query }: LinkTarget, text: Html | string | number): Html =>
  address === undefined ? html`${text}` : html`<a href="${address(path, query)}">${text}</a>`

/** A link to the feedback of a figure. */
export const feedbackLink = (site: Site, query: ViewQuery | undefined, text: Html | string | number): Html =>
  query === undefined ? html`${text}` : linkTo(site, { path: '/feedback', query }, text)

export type Form = {
  readonly path: string
  readonly act: string
  readonly submit: string
  readonly body?: JsonObject
  readonly id?: string
}

/** A form that changes something. `act`: what the fields mean. */
export const changeForm = (
  { address, formToken }: Site,
  { path, act, submit, body, id = '' }: Form,
  fields: Html = html``,
): Html =>
  address === undefined
    ? html``
    : html`<form method="post" action="${address(path)}" class="change" id="${id === '' ? `form-${act}` : id}">
        <input type="hidden" name="formToken" value="${formToken}" />
        <input type="hidden" name="act" value="${act}" />
        ${body === undefined ? html`` : html`<input type="hidden" name="body" value="${JSON.stringify(body)}" />`}
        ${fields}
        <button>${submit}</button>
      </form>`
