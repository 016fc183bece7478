import type { Figures } from '../db/reads/counts.ts'
import type { Dimension } from '../db/reads/dimensions.ts'
import type { SpanGroup, SpanGroups, SpanOrder } from '../db/reads/spans.ts'
import { html, type Html } from './html.ts'
import { bar, badOf, changeOf, type ShownColumn, label, number, percent, plural, table } from './parts.ts'
import { feedbackLink, linkTo, type Site } from './site.ts'
import { filterOf, type ViewQuery, type Spanned, within } from './view.ts'

/** At most 0.4 of satisfaction is bad, as in counts. */
export const BAD_QUERY: ViewQuery = { satisfactionMax: '0.4' }
const RATED_QUERY: ViewQuery = { satisfactionMin: '0' }
const PAGES: Readonly<Record<string, string>> = { theme: '/themes', account: '/accounts', customer: '/customers' }

/** The words before a figure of satisfaction that has fallen by so much. */
const LEAST_DROP_MARKED = 0.1

/** A satisfaction with the number of ratings and of bad ones, each a link to its texts. */
export const satisfactionOf = (site: Site, figures: Figures, query: ViewQuery | undefined): Html => {
  const { rated, satisfaction } = figures
  if (satisfaction === null) return html`–`
  const bad = badOf(figures)
  const linked = (more: ViewQuery, text: string): Html => feedbackLink(site, query && { ...query, ...more }, text)
  return html`${percent(satisfaction)} of
  ${linked(RATED_QUERY, `${number(rated)} rated`)}${
    bad === 0 ? html`` : html`, ${linked(BAD_QUERY, `${number(bad)} bad`)}`
  }`
}

export const groupName = (by: Dimension, { key, name }: Pick<SpanGroup, 'key' | 'name'>): Html =>
  key === null ? html`(no ${by.replace(/^field\./, '')})` : label(name ?? (by in PAGES ? '(no name)' : key))

type Grouped = {
  readonly name: string
  readonly by: Dimension
  readonly groups: readonly SpanGroup[]
  readonly mostBytes?: number
}

/** Groups with their figures in two spans. Every figure leads to the texts that it counts. */
export const groupTable = (site: Site, spanned: Spanned, { name, by, groups, mostBytes }: Grouped): Html => {
  const most = Math.max(...groups.map(({ after }) => after.feedback), 1)
  const hasValue = by === 'account'
  const columns: ShownColumn[] = [
    { name: nameOf(by) },
    ...(hasValue ? [{ name: 'Contract value' }] : []),
    { name: 'Feedback' },
    { name: 'Before' },
    { name: 'Change' },
    { name: 'Satisfaction' },
    { name: 'Satisfaction before' },
  ]
  const rows = groups.map((group) => {
    const { key, before, after, contractValue } = group
    const own = filterOf(by, key)
    const later = within(spanned.afterQuery, own)
    const earlier = within(spanned.beforeQuery, own)
    const path = PAGES[by]
    const shown = groupName(by, group)
    return [
      path === undefined || key === null
        ? feedbackLink(site, later, shown)
        : linkTo(site, { path: `${path}/${key}`, query: spanQuery(spanned) }, shown),
      ...(hasValue ? [html`${number(contractValue)}`] : []),
      bar(feedbackLink(site, later, number(after.feedback)), after.feedback / most),
      feedbackLink(site, earlier, number(before.feedback)),
      html`${changeOf(before.feedback, after.feedback)}`,
      isWorse(group)
        ? html`<strong class="worse">↓ ${satisfactionOf(site, after, later)}</strong>`
        : satisfactionOf(site, after, later),
      satisfactionOf(site, before, earlier),
    ]
  })
  return table({ name, mostBytes }, columns, rows)
}

/** A mean of fewer ratings says too little. */
const LEAST_RATED = 3

const isWorse = ({ before, after }: SpanGroup): boolean =>
  Math.min(before.rated, after.rated) >= LEAST_RATED &&
  before.satisfaction !== null &&
  after.satisfaction !== null &&
  before.satisfaction - after.satisfaction >= LEAST_DROP_MARKED

const nameOf = (by: Dimension): string => {
  const name = by.replace(/^field\./, '')
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`
}

export const spanQuery = ({ afterQuery }: Spanned): ViewQuery => ({
  createdFrom: afterQuery['createdFrom'],
  createdTo: afterQuery['createdTo'],
})

const RANKS: Readonly<Record<SpanOrder, (group: SpanGroup) => number>> = {
  feedback: ({ after }) => -after.feedback,
  growth: ({ before, after }) => before.feedback - after.feedback,
  fall: ({ before, after }) => after.feedback - before.feedback,
  bad: ({ after }) => -badOf(after),
  worse: ({ before, after }) =>
    before.satisfaction === null || after.satisfaction === null ? 2 : after.satisfaction - before.satisfaction,
  contractValue: ({ contractValue }) => -(contractValue ?? -1),
}

/** The first groups in an order. */
export const inOrder = ({ groups }: SpanGroups, order: SpanOrder, most: number): SpanGroup[] =>
  groups
    .toSorted(
      (one, other) =>
        RANKS[order](one) - RANKS[order](other) || RANKS.feedback(one) - RANKS.feedback(other) || byKey(one, other),
    )
    .slice(0, most)

const byKey = (one: SpanGroup, other: SpanGroup): number => ((one.key ?? '') < (other.key ?? '') ? -1 : 1)

/** How many of the groups a table shows. */
export const shownOf = (shown: number, found: number, noun: string): Html =>
  html`<p class="note">
    ${shown < found ? `The first ${number(shown)} of ${plural(found, noun)}.` : `${plural(found, noun)}.`}
  </p>`
