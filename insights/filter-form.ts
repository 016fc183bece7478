import { FIELD_PREFIX } from '../contract/feedback-filters.ts'
import { TEXT_KINDS } from '../contract/kinds-of-texts.ts'
import type { RecordKind } from '../contract/record-schemas.ts'
import { html, type Html } from './html.ts'
import { cut, label, plural, thatFit } from './parts.ts'
import type { InsightReads } from './reads.ts'
import { linkTo, type PageAsked, type Site } from './site.ts'
import { readThemes } from './theme-names.ts'
import { lastDays, type ViewQuery } from './view.ts'

type FilterChoice = { readonly value: string; readonly name: string }

const MOST_SOURCES = 30
/** A longer name is found by its page: a list of such names would be too long. */
const MOST_CHARACTERS = 100

/** What people choose from in a form of filters. */
const readChoices = async (
  reads: InsightReads,
): Promise<{ sources: FilterChoice[]; themes: FilterChoice[]; fields: string[] }> => {
  const sources = await reads.count({ by: ['source'], filters: {}, limit: MOST_SOURCES })
  const themes = await readThemes(reads)
  const fields = await reads.fields()
  return {
    sources: sources.top
      .map(({ keys }) => keys[0]!.key ?? '')
      .filter((source) => source.length <= MOST_CHARACTERS)
      .map((source) => ({ value: source, name: source })),
    themes: themes.filter(({ isOpen }) => isOpen).map(({ id, name }) => ({ value: id, name })),
    fields: [...new Set(fields.map(({ name }) => name))],
  }
}

type FormAsked = { readonly path: string; readonly hasSpan: boolean; readonly of?: 'feedback' | 'conversations' }

/** The filters of a page as a form, with the presets of its span. */
export const filterForm = async (
  { site, view, reads }: PageAsked,
  { path, hasSpan, of = 'feedback' }: FormAsked,
): Promise<Html> => {
  if (site.address === undefined) return html``
  const { sources, themes, fields } = await readChoices(reads)
  const { query } = view
  const kinds = TEXT_KINDS.map((kind) => ({ value: kind, name: kind }))
  return html`<search class="filters" aria-label="Filters">
    <form action="${site.address(path)}">
      ${view.by === undefined ? html`` : html`<input type="hidden" name="by" value="${view.by}" />`}
      ${view.order === undefined ? html`` : html`<input type="hidden" name="order" value="${view.order}" />`}
      ${dayInput('createdFrom', hasSpan ? 'From, such as the day of a release' : 'From', query)}
      ${dayInput('createdTo', 'To', query)} ${textInput('q', 'Words of the text', query)}
      ${choiceOf({ name: 'source', text: 'Source', choices: sources }, query)}
      ${choiceOf({ name: 'themeId', text: 'Theme', choices: themes }, query)}
      ${choiceOf({ name: 'kind', text: 'Kind', choices: kinds }, query)}
      ${of === 'feedback' ? moreFilters(fields, query) : html``} ${await hiddenFilters(reads, query)}
      <p class="buttons"><button>Show</button> <a href="${site.address(path)}">Without filters</a></p>
    </form>
    ${hasSpan ? presets(site, path, query) : html``}
  </search>`
}

const PRESETS = [
  { days: 7, name: '7 days' },
  { days: 28, name: '4 weeks' },
  { days: 91, name: '13 weeks' },
  { days: 364, name: '52 weeks' },
] as const

const presets = (site: Site, path: string, query: ViewQuery): Html =>
  html`<p class="presets">
    The last
    ${PRESETS.map(({ days, name }) => html`${linkTo(site, { path, query: { ...query, ...lastDays(site.now, days) } }, name)} `)}
  </p>`

const valueOf = (query: ViewQuery, name: string): string => {
  const value = query[name]
  return typeof value === 'string' ? value : (value?.[0] ?? '')
}

const dayInput = (name: string, text: string, query: ViewQuery): Html => {
  const value = valueOf(query, name)
  const type = value === '' || /^\d{4}-\d\d-\d\d$/.test(value) ? 'date' : 'text'
  return html`<label>${text} <input type="${type}" name="${name}" value="${value}" /></label>`
}

const textInput = (name: string, text: string, query: ViewQuery): Html =>
  html`<label>${text} <input name="${name}" value="${valueOf(query, name)}" maxlength="512" /></label>`

/** The bytes of the choices of a list. */
const MOST_BYTES = 15_000

type Choosing = { name: string; text: string; choices: readonly FilterChoice[]; none?: string }

export const choiceOf = ({ name, text, choices, none = 'any' }: Choosing, query: ViewQuery): Html => {
  const given = valueOf(query, name)
  const option = ({ value, name: shown }: FilterChoice): Html =>
    html`<option value="${value}" ${value === given ? html` selected` : html``}>${cut(shown)}</option>`
  const chosen = choices.find(({ value }) => value === given) ?? { value: given, name: given }
  const others = choices.filter(({ value }) => value !== given).map(option)
  const fitting = thatFit(others, MOST_BYTES)
  return html`<label
    >${text}
    <select name="${name}">
      <option value="">${none}</option>
      ${given === '' ? html`` : option(chosen)} ${fitting}
      ${fitting.length < others.length ? html`<option disabled>${plural(others.length - fitting.length, 'more choice')}: find the name first</option>` : html``}
    </select></label
  >`
}

const SATISFACTIONS = [
  { value: '0.4', name: 'bad: at most 40 %' },
  { value: '1', name: 'any rated' },
]
const MOODS = [
  { value: '-0.3', name: 'blame' },
  { value: '0.3', name: 'blame or neutral' },
]
const HIDDEN = [{ value: 'true', name: 'only hidden' }]
const MORE = ['tag', 'satisfactionMax', 'satisfactionMin', 'moodMax', 'ratingMin', 'ratingMax', 'isHidden']

const moreFilters = (fields: readonly string[], query: ViewQuery): Html => {
  const isOpen = Object.keys(query).some((name) => MORE.includes(name) || name.startsWith(FIELD_PREFIX))
  const tags = [query['tag'] ?? []].flat()
  const inputs = html`<div>
    ${[...tags, ''].map((tag) => textInput('tag', 'Tag, exactly as written', { tag }))}
    ${choiceOf({ name: 'satisfactionMax', text: 'Satisfaction', choices: SATISFACTIONS }, query)}
    ${textInput('satisfactionMin', 'Least satisfaction, 0 to 1', query)}
    ${choiceOf({ name: 'moodMax', text: 'Mood', choices: MOODS }, query)}
    ${textInput('ratingMin', 'Least rating', query)} ${textInput('ratingMax', 'Greatest rating', query)}
    ${fields.map((name) => textInput(`${FIELD_PREFIX}${name}`, name, query))}
    ${choiceOf({ name: 'isHidden', text: 'Hidden feedback', choices: HIDDEN, none: 'none' }, query)}
  </div>`
  return html`<details${isOpen ? html` open` : html``}>
    <summary>More filters</summary>
    ${inputs}
  </details>`
}

const OF_RECORDS = [
  { name: 'accountId', kind: 'account', text: 'Account' },
  { name: 'customerId', kind: 'customer', text: 'Customer' },
  { name: 'projectId', kind: 'project', text: 'Project' },
  { name: 'similarId', kind: undefined, text: 'Near-identical texts' },
] as const satisfies readonly { name: string; kind: RecordKind | undefined; text: string }[]

/** Filters that come from a link. A reader takes one back by its box. */
const hiddenFilters = async (reads: InsightReads, query: ViewQuery): Promise<Html> => {
  const shown: Html[] = []
  for (const { name, kind, text } of OF_RECORDS) {
    const id = valueOf(query, name)
    if (id === '') continue
    const found = kind === undefined ? undefined : await reads.record(kind, id)
    const { name: own, domain } = (found?.record ?? {}) as { name?: string; domain?: string }
    shown.push(
      html`<label class="kept"
        ><input type="checkbox" name="${name}" value="${id}" checked /> ${text} ${label(own ?? domain ?? '')}</label
      >`,
    )
  }
  return html`${shown}`
}
