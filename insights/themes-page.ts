import type { SpanOrder } from '../db/reads/spans.ts'
import { choiceOf, filterForm } from './filter-form.ts'
import { groupTable, inOrder, shownOf } from './group-table.ts'
import { html, type Html } from './html.ts'
import { label, plural, SMALL_TABLE_BYTES, table, timeOf } from './parts.ts'
import {
  type PageAsked,
  changeForm,
  feedbackLink,
  linkTo,
  NO_RECORD,
  type NoPage,
  type InsightPage,
  type Site,
} from './site.ts'
import { spansOf, spanText, tiles, trend } from './spans.ts'
import { CHOSEN, readListed, textList, TEXTS_OF_A_PAGE } from './text-list.ts'
import { type NamedTheme, readTheme, readThemes } from './theme-names.ts'
import { type ViewQuery, spannedOf } from './view.ts'

const MOST = 60
const MOST_OF_THEME = 8
export const ORDERS = {
  feedback: 'most feedback',
  growth: 'grows most',
  fall: 'falls most',
  bad: 'most bad ratings',
  worse: 'satisfaction fell most',
} as const satisfies Partial<Record<SpanOrder, string>>

type Orders = { query: ViewQuery; orders: Readonly<Record<string, string>>; now: string }

/** Links to the same page in other orders. */
export const orderLinks = (site: Site, path: string, { query, orders, now }: Orders): Html =>
  site.address === undefined
    ? html``
    : html`<p class="presets">
        Order:
        ${Object.entries(orders).map(([order, name]) =>
          order === now
            ? html`<strong>${name}</strong> `
            : html`${linkTo(site, { path, query: { ...query, order } }, name)} `,
        )}
      </p>`

export const orderOf = <Name extends SpanOrder>(
  order: string | undefined,
  orders: Readonly<Record<Name, string>>,
  usual: Name,
): Name => (order !== undefined && Object.hasOwn(orders, order) ? (order as Name) : usual)

/** All themes with their figures, and the hidden and merged ones. */
export const themesPage = async (asked: PageAsked): Promise<InsightPage> => {
  const { site, view, reads } = asked
  const spanned = spannedOf(view, site.now)
  const order = orderOf(view.order, ORDERS, 'feedback')
  const spans = await spansOf(asked, spanned, { by: ['theme'], orders: [order], limit: MOST })
  const [themes] = spans.of
  const groups = inOrder(themes!, order, MOST)
  const main = html`${await spanText(asked, spanned)} ${await filterForm(asked, { path: '/themes', hasSpan: true })}
    <section>
      <h2>Themes</h2>
      ${orderLinks(site, '/themes', { query: spanned.afterQuery, orders: ORDERS, now: order })}
      ${groups.length === 0 ? html`<p>No feedback has a theme yet.</p>` : groupTable(site, spanned, { name: 'Themes', by: 'theme', groups })}
      ${shownOf(groups.length, themes!.found, 'group')}
    </section>
    ${site.address === undefined ? html`` : closedThemes(site, await readThemes(reads))}`
  return { title: 'Themes', main }
}

const closedThemes = (site: Site, themes: readonly NamedTheme[]): Html => {
  const closed = themes.filter(({ isOpen }) => !isOpen)
  const names = new Map(themes.map(({ id, name }) => [id, name]))
  const rows = closed.map(({ id, name, record: { mergedInto } }) => [
    linkTo(site, { path: `/themes/${id}` }, label(name)),
    mergedInto === undefined
      ? html`hidden`
      : html`merged into ${linkTo(site, { path: `/themes/${mergedInto}` }, label(names.get(mergedInto) ?? ''))}`,
  ])
  return rows.length === 0
    ? html``
    : html`<section>
        <h2>Hidden and merged themes</h2>
        ${table({ name: 'Hidden and merged themes' }, [{ name: 'Theme' }, { name: 'State' }], rows)}
      </section>`
}

const TITLES = { account: 'Who says it: the largest accounts', source: 'Sources', kind: 'Kinds' } as const

const OF_THEME = {
  by: ['account', 'source', 'kind'],
  orders: ['feedback', 'contractValue'],
  limit: MOST_OF_THEME,
  countsPeople: true,
} as const

/** One theme: how it develops, who says it, and its texts. */
export const themePage = async (asked: PageAsked, id: string): Promise<InsightPage | NoPage> => {
  const { site, view, reads } = asked
  const theme = await readTheme(reads, id)
  if (theme === undefined) return NO_RECORD
  const themes = await readThemes(reads)
  const { mergedInto } = theme.record
  const into = mergedInto === undefined ? undefined : await readTheme(reads, mergedInto)
  const own = {
    ...asked,
    view: { ...view, query: { ...view.query, themeId: id }, filters: { ...view.filters, themeId: id } },
  }
  const spanned = spannedOf(own.view, site.now)
  const spans = await spansOf(own, spanned, OF_THEME)
  const filters = { ...spanned.filters, createdFrom: spanned.after.from, createdTo: spanned.after.to }
  const asTexts = { kind: 'feedback', filters, isOldestFirst: false, limit: TEXTS_OF_A_PAGE } as const
  const texts = await readListed(reads, asTexts, undefined)
  const form = await filterForm(asked, { path: `/themes/${id}`, hasSpan: true })
  const main = html`${await spanText(asked, spanned)} ${form} ${stateOf(site, theme, into)}
    ${tiles(site, spanned, spans)} ${trend(site, spanned, spans.steps)}
    ${OF_THEME.by.map((name, at) => {
      const groups = inOrder(spans.of[at]!, name === 'account' ? 'contractValue' : 'feedback', MOST_OF_THEME)
      const title = TITLES[name]
      return groups.length === 0
        ? html``
        : html`<section>
            <h2>${title}</h2>
            ${groupTable(site, spanned, { name: title, by: name, groups, mostBytes: SMALL_TABLE_BYTES })}
          </section>`
    })}
    <section>
      <h2>Texts</h2>
      ${await textList(asked, texts.records, { isChosen: true })}
      <p>
        ${feedbackLink(site, spanned.afterQuery, `All ${plural(spans.after.feedback, 'feedback', 'feedback')} of the theme in this time`)}
      </p>
    </section>
    ${themeForms(site, theme, themes)}`
  return { title: `Theme: ${theme.name}`, main }
}

const stateOf = (site: Site, { record }: NamedTheme, into: NamedTheme | undefined): Html =>
  html`<p class="note">
    Since ${timeOf(record.createdAt)}.
    ${record.isHidden ? 'It is hidden: no count by theme and no report shows it.' : ''}
    ${into === undefined ? '' : html`Merged into ${linkTo(site, { path: `/themes/${into.id}` }, label(into.name))}, which has its texts.`}
  </p>`

/** The forms that change a theme. */
const themeForms = (site: Site, { id, name, record }: NamedTheme, themes: readonly NamedTheme[]): Html => {
  if (!site.may.edit || site.address === undefined) return html``
  const path = `/themes/${id}`
  const others = themes
    .filter((each) => each.isOpen && each.id !== id)
    .map((each) => ({ value: each.id, name: each.name }))
  const { isHidden, mergedInto } = record
  return html`<section class="changes">
    <h2>Change the theme</h2>
    ${changeForm(site, { path, act: 'name', submit: 'Rename it' }, html`<label>Name; empty: the tag that names it <input name="name" value="${name}" maxlength="200" /></label>`)}
    ${changeForm(site, { path, act: 'mergedInto', submit: 'Merge it' }, choiceOf({ name: 'mergedInto', text: 'Merge it into', choices: others, none: 'no other theme' }, { mergedInto }))}
    ${changeForm(site, { path, act: 'body', submit: isHidden ? 'Show it again' : 'Hide it', body: { isHidden: !isHidden } })}
    ${splitForm(site)}
  </section>`
}

/** The texts of the page have boxes that belong to this form. */
const splitForm = (site: Site): Html =>
  changeForm(
    site,
    { path: '/themes', act: 'split', submit: 'Make a theme of the chosen texts', id: CHOSEN },
    html`<label
      >Name of a new theme for the texts that you choose above <input name="name" maxlength="200" required
    /></label>`,
  )
