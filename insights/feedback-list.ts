import { filterForm } from './filter-form.ts'
import { unknownWords } from './first.ts'
import { satisfactionOf } from './group-table.ts'
import { html, type Html } from './html.ts'
import { plural } from './parts.ts'
import { type PageAsked, linkTo, type InsightPage } from './site.ts'
import { placeText, readListed, textList, TEXTS_OF_A_PAGE } from './text-list.ts'
import type { ListPlace } from '../db/reads/records.ts'
import type { ViewQuery } from './view.ts'

/** The feedback itself, with all filters. */
export const feedbackListPage = async (asked: PageAsked): Promise<InsightPage> => {
  const { site, view, reads } = asked
  const { filters, query, next, order } = view
  const isOldestFirst = order === 'oldest'
  const list = { kind: 'feedback', filters, isOldestFirst, limit: TEXTS_OF_A_PAGE } as const
  const found = await readListed(reads, list, next)
  const turned = { ...query, order: isOldestFirst ? undefined : 'oldest' }
  const isSimilarJoined = filters.similarId === undefined
  const main = html`${await totalOf(asked)} ${await filterForm(asked, { path: '/feedback', hasSpan: false })}
    ${unknownWords(found.unknownWords)}
    <section>
      <h2>${isOldestFirst ? 'Oldest first' : 'Newest first'}</h2>
      <p>
        ${linkTo(site, { path: '/feedback', query: turned }, isOldestFirst ? 'Show the newest first' : 'Show the oldest first')}
        ${['theme', 'account', 'source', 'kind', 'tag', 'month'].map(
          (by) => html`· ${linkTo(site, { path: '/groups', query: { ...query, by } }, `by ${by}`)} `,
        )}
      </p>
      ${found.records.length === 0 ? html`<p>No feedback here.</p>` : await textList(asked, found.records, { isSimilarJoined })}
      ${moreLink(asked, '/feedback', found.next)}
    </section>`
  return { title: 'Feedback', main }
}

/** How much feedback has the filters of the list. */
const totalOf = async ({ site, view: { filters, query }, reads }: PageAsked): Promise<Html> => {
  const days = spanWords(query)
  if (filters.isHidden === true) return html`<p class="span">Hidden feedback ${days}, which is in no count.</p>`
  const declared = filters.fields === undefined ? [] : await reads.fields()
  const { total } = await reads.count({ by: ['source'], filters, declared, limit: 1 })
  return html`<p class="span">
    <strong id="total">${plural(total.feedback, 'feedback', 'feedback')}</strong> ${days}, satisfaction
    ${satisfactionOf(site, total, query)}. Hidden feedback does not count. Near-identical texts of a page are one.
  </p>`
}

/** The days of a list, in words. */
export const spanWords = ({ createdFrom, createdTo }: ViewQuery): string => {
  if (createdFrom === undefined && createdTo === undefined) return 'of all times'
  const parts = [
    ...(createdFrom === undefined ? [] : [`from ${String(createdFrom)}`]),
    ...(createdTo === undefined ? [] : [`to ${String(createdTo)}`]),
  ]
  return `${parts.join(' ')} (UTC)`
}

/** The way to the next page of a list. */
export const moreLink = (
  { site, view: { query, order } }: PageAsked,
  path: string,
  next: ListPlace | undefined,
): Html =>
  next === undefined
    ? html``
    : html`<p class="more">
        ${linkTo(site, { path, query: { ...query, order, next: placeText(next) } }, 'Next page')}
      </p>`
