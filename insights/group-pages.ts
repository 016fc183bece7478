import { DIMENSION_NAMES } from '../db/reads/dimensions.ts'
import { filterForm } from './filter-form.ts'
import { groupName, groupTable, inOrder, shownOf } from './group-table.ts'
import { html, type Html } from './html.ts'
import { decimal, HALF_TABLE_BYTES, label, number, plural, signed, table } from './parts.ts'
import { type PageAsked, feedbackLink, linkTo, type InsightPage, type Site } from './site.ts'
import { spansOf, spanText, tiles, trend } from './spans.ts'
import { orderLinks, orderOf, ORDERS } from './themes-page.ts'
import { type Spanned, spannedOf } from './view.ts'

const MOST = 50
/** Feedback by any dimension, also by a declared field such as a version. */
export const groupsPage = async (asked: PageAsked): Promise<InsightPage> => {
  const { site, view, reads } = asked
  const by = view.by ?? 'tag'
  const fields = [...new Set((await reads.fields()).map(({ name }) => `field.${name}`))]
  const spanned = spannedOf(view, site.now)
  const order = orderOf(view.order, ORDERS, 'feedback')
  const spans = await spansOf(asked, spanned, { by: [by], orders: [order], limit: MOST, countsPeople: true })
  const groups = inOrder(spans.of[0]!, order, MOST)
  const name = by.replace(/^field\./, '')
  const query = { ...spanned.afterQuery, by }
  const main = html`${await spanText(asked, spanned)}
    ${site.address === undefined ? html`` : dimensionLinks(site, spanned, { by, fields })}
    ${await filterForm({ ...asked, view: { ...view, by } }, { path: '/groups', hasSpan: true })}
    ${tiles(site, spanned, spans)}
    <section>
      <h2>By ${name}</h2>
      ${by === 'tag' ? html`<p class="note">A feedback counts once for each of its tags.</p>` : html``}
      ${orderLinks(site, '/groups', { query, orders: ORDERS, now: order })}
      ${groupTable(site, spanned, { name: `By ${name}`, by, groups })}
      ${shownOf(groups.length, spans.of[0]!.found, 'group')}
    </section>
    ${trend(site, spanned, spans.steps)}`
  return { title: 'Groups', main }
}

const dimensionLinks = (
  site: Site,
  spanned: Spanned,
  { by, fields }: { by: string; fields: readonly string[] },
): Html =>
  html`<p class="presets">
    By
    ${[...DIMENSION_NAMES, ...fields].map((each) =>
      each === by
        ? html`<strong>${each}</strong> `
        : html`${linkTo(site, { path: '/groups', query: { ...spanned.afterQuery, by: each } }, each)} `,
    )}
  </p>`

const MOST_SOURCES = 50

/** Sources with their satisfaction, scale, and Net Promoter Score. */
export const sourcesPage = async (asked: PageAsked): Promise<InsightPage> => {
  const { site, view } = asked
  const spanned = spannedOf(view, site.now)
  const spans = await spansOf(asked, spanned, { by: ['source'], orders: ['feedback'], limit: MOST_SOURCES })
  const groups = inOrder(spans.of[0]!, 'feedback', MOST_SOURCES)
  const main = html`${await spanText(asked, spanned)} ${await filterForm(asked, { path: '/sources', hasSpan: true })}
    <section>
      <h2>Feedback and satisfaction</h2>
      ${groupTable(site, spanned, { name: 'Sources', by: 'source', groups, mostBytes: HALF_TABLE_BYTES })}
      ${shownOf(groups.length, spans.of[0]!.found, 'source')}
    </section>
    ${await scalesOf(asked, spanned)}
    ${site.address === undefined ? html`` : html`<p>${linkTo(site, { path: '/groups', query: { by: 'project' } }, 'By project')}</p>`}`
  return { title: 'Sources', main }
}

const scalesOf = async ({ site, reads }: PageAsked, spanned: Spanned): Promise<Html> => {
  const { filters, after, afterQuery } = spanned
  const declared = filters.fields === undefined ? [] : await reads.fields()
  const within = { ...filters, createdFrom: after.from, createdTo: after.to }
  const scores = await reads.answers({ by: ['source'], filters: within, declared })
  const known = await reads.sources()
  const rows = known.slice(0, MOST_SOURCES).map(({ source, scale, isScaleGiven, ratings, leastRating, mostRating }) => {
    const { answers = 0, promoters = 0, detractors = 0 } = scores.find(({ keys }) => keys?.[0] === source) ?? {}
    const scaleText =
      scale === null ? (isScaleGiven ? 'none' : 'unknown') : `${decimal(scale[0])} to ${decimal(scale[1])}`
    return [
      feedbackLink(site, { ...afterQuery, source }, label(source)),
      html`${scaleText}`,
      html`${plural(ratings, 'rating')}${ratings === 0 ? '' : `, ${decimal(leastRating)} to ${decimal(mostRating)}`}`,
      html`${answers === 0 ? '–' : `${signed((100 * (promoters - detractors)) / answers)} of ${number(answers)} answers`}`,
    ]
  })
  const columns = [{ name: 'Source' }, { name: 'Scale' }, { name: 'All ratings' }, { name: 'NPS in this time' }]
  const isUnknown = known.some(({ scale, isScaleGiven, ratings }) => scale === null && !isScaleGiven && ratings > 0)
  return html`<section>
    <h2>Scales</h2>
    <p>
      Satisfaction is the place of a rating between the ends of the scale of its source, from 0 to 100 %. Up to 40 % is
      bad. NPS, for a scale of 0 to 10, is the percentage of 9 or more, less that of 6 or less.
      ${isUnknown ? 'No mean counts ratings without a scale: an administrator gives it under Settings, or with npm run source.' : ''}
    </p>
    ${rows.length === 0 ? html`<p>No source has ratings or settings.</p>` : table({ name: 'Scales', mostBytes: HALF_TABLE_BYTES }, columns, rows)}
  </section>`
}

/** Accounts, customers, themes, tags, projects and sources with a text in their name. */
export const findPage = async ({ site, view, reads }: PageAsked): Promise<InsightPage> => {
  const name = (view.name ?? '').slice(0, 200)
  const found = name === '' ? [] : await reads.names(name)
  const rows = found.map(({ kind, id, name: own, domain }) => {
    const shown = groupName(kind, { key: own, name: own })
    const query = kind === 'tag' ? { tag: own } : kind === 'source' ? { source: own } : { projectId: id ?? '' }
    const page = kind === 'account' || kind === 'theme' || kind === 'customer' ? `/${kind}s/${id}` : undefined
    return [
      page === undefined ? feedbackLink(site, query, shown) : linkTo(site, { path: page }, shown),
      html`${kind}`,
      label(domain ?? ''),
    ]
  })
  const columns = [{ name: 'Name' }, { name: 'What it is' }, { name: 'Domain' }]
  const words = html`<p>${linkTo(site, { path: '/feedback', query: { q: name } }, 'Feedback with these words')}</p>`
  return {
    title: 'Find a name',
    main: html`<p>Names with ${html`<q>${label(name)}</q>`} in them: at most 20, the most similar first.</p>
      ${rows.length === 0 ? html`<p>Nothing has this name.</p>` : table({ name: 'Found' }, columns, rows)}
      ${name === '' ? html`` : words}`,
  }
}
