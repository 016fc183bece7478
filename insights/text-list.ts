import type { Feedback } from '../contract/record-schemas.ts'
import type { ListRequest } from '../db/reads/lists.ts'
import type { ListPlace } from '../db/reads/records.ts'
import { htmlAsText } from '../runtime/reduce-html.ts'
import { html, type Html } from './html.ts'
import { cut, decimal, label, percent, plural, QUOTE_BYTES, timeOf } from './parts.ts'
import type { InsightReads } from './reads.ts'
import { feedbackLink, linkTo, type Site } from './site.ts'
import type { ViewQuery } from './view.ts'

export const TEXTS_OF_A_PAGE = 20
const MOST_TAGS = 4
const MOST_LINKED = 60
/** A call for a page looks at a bounded number of records, and can return few of them. */
const MOST_CALLS = 5
/** The id of the form that takes the chosen feedback of a list. */
export const CHOSEN = 'chosen'

type Listed = {
  readonly records: unknown[]
  readonly next: ListPlace | undefined
  readonly unknownWords?: string[] | undefined
}

/** A page of records. It can have fewer than the limit although the list goes on. */
export const readListed = async (
  reads: InsightReads,
  asked: Pick<ListRequest, 'kind' | 'filters' | 'isOldestFirst' | 'limit'>,
  next: string | undefined,
): Promise<Listed> => {
  const declared = asked.filters.fields === undefined ? [] : await reads.fields()
  const records: unknown[] = []
  let after = placeOf(next)
  let unknownWords: string[] | undefined
  for (let call = 0; call < MOST_CALLS; call++) {
    const page = await reads.list({ ...asked, declared, after, limit: asked.limit - records.length })
    records.push(...page.records.map((text) => JSON.parse(text) as unknown))
    unknownWords = page.unknownWords
    after = page.next
    if (after === undefined || records.length >= asked.limit) break
  }
  return { records, next: after, unknownWords }
}

const PLACE = /^(\d{4,5}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?)\/([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/
const placeOf = (next: string | undefined): ListPlace | undefined => {
  const [, at, id] = PLACE.exec(next ?? '') ?? []
  return at === undefined || id === undefined || Number.isNaN(Date.parse(`${at.replace(' ', 'T')}Z`))
    ? undefined
    : { at, id }
}
export const placeText = ({ at, id }: ListPlace): string => `${at}/${id}`

/** `isChosen`: whether each text has a box, for a form that takes the chosen ones. */
type TextsShown = { readonly isChosen?: boolean; readonly isSimilarJoined?: boolean }

/** Feedback as a list. Near-identical texts of the page are one, with the number of all of them. */
export const textList = async (
  { site, reads }: { site: Site; reads: InsightReads },
  records: readonly unknown[],
  { isChosen = false, isSimilarJoined = true }: TextsShown = {},
): Promise<Html> => {
  const all = records as Feedback[]
  const firsts = isSimilarJoined
    ? all.filter(
        ({ similarId }, at) => similarId === undefined || all.findIndex((each) => each.similarId === similarId) === at,
      )
    : all
  const similar = await reads.similar([...new Set(all.flatMap(({ similarId }) => similarId ?? []))])
  return html`<ul class="texts">
    ${firsts.map((each) => html`<li>${quote(site, each, { similar: similar.get(each.similarId ?? '') ?? 0, isChosen })}</li> `)}
  </ul>`
}

const quote = (site: Site, feedback: Feedback, { similar, isChosen }: { similar: number; isChosen: boolean }): Html => {
  const { id, title, description, createdAt = '' } = feedback
  const box = html`<label class="box"
    ><input type="checkbox" name="feedbackIds" value="${id}" form="${CHOSEN}" /> Choose</label
  >`
  const others =
    similar < 2
      ? html``
      : html` · ${feedbackLink(site, { similarId: feedback.similarId ?? '' }, plural(similar, 'near-identical text'))}`
  return html`<blockquote dir="auto">
      ${title === undefined ? html`` : html`<p class="title">${cut(title, QUOTE_BYTES / 4)}</p>`}
      <p>${cut(htmlAsText(description), QUOTE_BYTES)}</p>
    </blockquote>
    <p class="note">
      ${linkTo(site, { path: `/feedback/${id}` }, timeOf(createdAt))} ·
      ${authorOf(site, feedback)}${factsOf(site, feedback)}${others}
      ${isChosen && site.may.edit && site.address !== undefined ? box : html``}
    </p>`
}

/** A longer text is no link: its address would have thousands of bytes. */
export const ifShort = (text: string, query: ViewQuery): ViewQuery | undefined =>
  text.length > MOST_LINKED ? undefined : query

/** Who gave the feedback. */
export const authorOf = (site: Site, { customerId, customerName, accountId, accountName }: Feedback): Html => {
  const customer =
    customerId === undefined
      ? html`Unknown`
      : linkTo(site, { path: `/customers/${customerId}` }, label(customerName ?? '(no name)'))
  if (accountId === undefined) return customer
  return html`${customer}, ${linkTo(site, { path: `/accounts/${accountId}` }, label(accountName ?? '(no name)'))}`
}

/** Where it came from, what it is about, and its rating. */
export const factsOf = (
  site: Site,
  { source, themeId, themeName, kind, rating, satisfaction, tags = [], ...rest }: Feedback,
): Html =>
  html`${source === undefined ? html`` : html` · ${feedbackLink(site, { source }, label(source))}`}${
    rating === undefined
      ? html``
      : html` · rated ${decimal(rating)}${satisfaction === undefined ? '' : ` (${percent(satisfaction)})`}`
  }${kind === undefined ? html`` : html` · ${feedbackLink(site, { kind }, kind)}`}${
    themeId === undefined
      ? html``
      : html` · ${linkTo(site, { path: `/themes/${themeId}` }, label(themeName ?? '(no name)'))}`
  }${
    rest.projectId === undefined
      ? html``
      : html` · ${feedbackLink(site, { projectId: rest.projectId }, label(rest.projectName ?? ''))}`
  }${rest.isHidden === true ? html` · <strong>hidden</strong>` : html``}
  ${tags.slice(0, MOST_TAGS).map((tag) => html`<span class="tag">${feedbackLink(site, ifShort(tag, { tag }), label(tag))}</span> `)}
  ${tags.length > MOST_TAGS ? `and ${tags.length - MOST_TAGS} more tags` : ''}`
