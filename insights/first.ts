import { alertList } from './alert-list.ts'
import type { Dimension } from '../db/reads/dimensions.ts'
import type { SpanGroup, SpanGroups } from '../db/reads/spans.ts'
import { filterForm } from './filter-form.ts'
import { groupTable, inOrder, spanQuery } from './group-table.ts'
import { html, type Html } from './html.ts'
import { label, SMALL_TABLE_BYTES } from './parts.ts'
import { type PageAsked, linkTo, type InsightPage, type Site } from './site.ts'
import { spansOf, spanText, tiles, trend } from './spans.ts'
import { type Spanned, spannedOf } from './view.ts'

const MOST = 6
const BY = ['theme', 'account', 'source', 'kind', 'project'] as const satisfies readonly Dimension[]
/** A theme with fewer texts is not shown as new: one text alone opens no subject. */
const LEAST_NEW = 2

/** What changed: a span against the time before it. */
export const firstPage = async (asked: PageAsked): Promise<InsightPage> => {
  const { site, view } = asked
  const spanned = spannedOf(view, site.now)
  const orders = ['feedback', 'growth', 'fall', 'bad'] as const
  const spans = await spansOf(asked, spanned, { by: BY, orders, limit: MOST, countsPeople: true })
  const [themes, accounts, sources, kinds, projects] = spans.of as [
    SpanGroups,
    SpanGroups,
    SpanGroups,
    SpanGroups,
    SpanGroups,
  ]
  const main = html`${await spanText(asked, spanned)} ${await filterForm(asked, { path: '', hasSpan: true })}
  ${unknownWords(spans.unknownWords)}
  ${Object.keys(spanned.filters).length === 0 ? await alertList(asked, spanned) : html``} ${tiles(site, spanned, spans)}
  ${themeChanges(site, spanned, themes)} ${trend(site, spanned, spans.steps)}
  ${part({ site, spanned, title: 'Themes with the most feedback', by: 'theme', more: '/themes' }, inOrder(themes, 'feedback', MOST))}
  ${part({ site, spanned, title: 'Accounts with the most bad ratings', by: 'account', more: '/accounts' }, inOrder(accounts, 'bad', MOST).filter(hasKey))}
  ${part({ site, spanned, title: 'Kinds', by: 'kind' }, inOrder(kinds, 'feedback', MOST))}
  ${part({ site, spanned, title: 'Sources', by: 'source', more: '/sources' }, inOrder(sources, 'feedback', MOST))}
  ${part({ site, spanned, title: 'Projects', by: 'project' }, inOrder(projects, 'feedback', MOST).filter(hasKey))}`
  return { title: 'What changed', main }
}

export const unknownWords = (words: readonly string[] | undefined): Html =>
  words === undefined || words.length === 0
    ? html``
    : html`<p class="problem">No text has ${words.map((word) => html`<q>${label(word)}</q> `)}</p>`

const hasKey = ({ key }: SpanGroup): boolean => key !== null

/** Themes that are new, have grown or have fallen. */
const themeChanges = (site: Site, spanned: Spanned, themes: SpanGroups): Html => {
  const named = { ...themes, groups: themes.groups.filter(hasKey) }
  const grown = inOrder(named, 'growth', MOST).filter(({ before, after }) => after.feedback > before.feedback)
  const news = grown.filter(({ before, after }) => before.feedback === 0 && after.feedback >= LEAST_NEW)
  const fallen = inOrder(named, 'fall', MOST).filter(({ before, after }) => after.feedback < before.feedback)
  return html`${part({ site, spanned, title: 'New themes: without a text in the time before', by: 'theme', isNews: true }, news)}
  ${part(
    { site, spanned, title: 'Themes that grow', by: 'theme' },
    grown.filter((group) => !news.includes(group)),
  )}
  ${part({ site, spanned, title: 'Themes that fall', by: 'theme' }, fallen)}`
}

type TablePart = {
  readonly site: Site
  readonly spanned: Spanned
  readonly title: string
  readonly by: Dimension
  /** The page with all groups. */
  readonly more?: string
  readonly isNews?: boolean
}

const part = ({ site, spanned, title, by, more, isNews = false }: TablePart, groups: readonly SpanGroup[]): Html =>
  groups.length === 0
    ? html``
    : html`<section class="${isNews ? 'news' : 'part'}">
        <h2>${title}</h2>
        ${groupTable(site, spanned, { name: title, by, groups, mostBytes: SMALL_TABLE_BYTES })}
        ${
          more === undefined || site.address === undefined
            ? html``
            : html`<p>${linkTo(site, { path: more, query: spanQuery(spanned) }, `All ${more.slice(1)}`)}</p>`
        }
      </section>`
