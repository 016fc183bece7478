import type { Dimension } from '../db/reads/dimensions.ts'
import type { SpanOrder, Spans, SpanStep, SpanUnit } from '../db/reads/spans.ts'
import { type ChartPoint, columnChart, shareChart } from './charts.ts'
import { satisfactionOf } from './group-table.ts'
import { html, type Html } from './html.ts'
import { changeOf, dayOf, number, percent, signed, table, tile } from './parts.ts'
import { type PageAsked, feedbackLink, type Site } from './site.ts'
import { type ViewQuery, type Spanned, stepQuery, within } from './view.ts'

type SpansAsked = {
  readonly by: readonly Dimension[]
  readonly orders: readonly SpanOrder[]
  readonly limit: number
  /** For tiles. */
  readonly countsPeople?: boolean
}

export const spansOf = async (
  { reads }: PageAsked,
  spanned: Spanned,
  { by, orders, limit, countsPeople = false }: SpansAsked,
): Promise<Spans> => {
  const { before, after, unit, filters } = spanned
  const isOfFields = filters.fields !== undefined || by.some((name) => name.startsWith('field.'))
  const declared = isOfFields ? await reads.fields() : []
  return reads.spans({ by, orders, limit, filters, declared, before, after, unit, countsPeople })
}

/** Which days a page is about, and whether feedback goes back so far. */
export const spanText = async ({ reads }: PageAsked, { afterQuery, beforeQuery, before }: Spanned): Promise<Html> => {
  const first = await reads.list({ kind: 'feedback', limit: 1, isOldestFirst: true, filters: {}, after: undefined })
  const { createdAt = before.from } = JSON.parse(first.records[0] ?? '{}') as { createdAt?: string }
  const begin =
    Date.parse(createdAt) > Date.parse(before.from) ? html` Feedback begins on ${dayOf(createdAt)}.` : html``
  return html`<p class="span">
    ${span(afterQuery)} (UTC), compared with the time of the same length before it, ${span(beforeQuery)}.${begin} Hidden
    feedback does not count.
  </p>`
}

const span = ({ createdFrom, createdTo }: Spanned['afterQuery']): Html =>
  html`<span class="days">${shortDay(createdFrom)}</span> to <span class="days">${shortDay(createdTo)}</span>`

const shortDay = (day: ViewQuery[string]): string => String(day).slice(0, 16).replace('T', ' ')

/** The totals of both spans: feedback, satisfaction and people. */
export const tiles = (site: Site, { afterQuery, beforeQuery }: Spanned, { before, after }: Spans): Html => {
  const earlier = feedbackLink(site, beforeQuery, number(before.feedback))
  const points =
    before.satisfaction === null || after.satisfaction === null
      ? html``
      : html`, ${signed(100 * (after.satisfaction - before.satisfaction))} points`
  return html`<div class="tiles">
    ${tile(
      'Feedback',
      feedbackLink(site, afterQuery, number(after.feedback)),
      html`before: ${earlier} ${changeNote(before.feedback, after.feedback)}`,
    )}
    ${tile('Satisfaction', html`${percent(after.satisfaction)}`, html`${satisfactionOf(site, after, afterQuery)}${points}`)}
    ${tile(
      'People',
      html`${number(after.customers)}`,
      html`before: ${number(before.customers)} ${changeNote(before.customers, after.customers)}`,
    )}
  </div>`
}

const changeNote = (before: number, after: number): string => {
  const change = changeOf(before, after)
  return change === '' || change === 'new' ? '' : `(${change})`
}

/** The steps of the later span as charts, with a table of the same figures. */
export const trend = (site: Site, spanned: Spanned, steps: readonly SpanStep[]): Html => {
  const { unit } = spanned
  const { shown, isCut } = everyStep(spanned, steps)
  const name = `Feedback each ${unit}`
  return html`<section>
    <h2>Over time</h2>
    ${isCut ? html`<p class="note">The charts show at most ${MOST_STEPS} months, up to the latest feedback.</p>` : html``}
    <div class="charts">
      <figure>
        <figcaption>${name}</figcaption>
        ${columnChart(
          name,
          shown.map((step) => pointOf(step, unit, step.after.feedback)),
        )}
      </figure>
      <figure>
        <figcaption>Satisfaction each ${unit}</figcaption>
        ${shareChart(
          `Satisfaction each ${unit}`,
          shown.map((step) => pointOf(step, unit, step.after.satisfaction)),
        )}
      </figure>
    </div>
    <details>
      <summary>The charts as a table</summary>
      ${table(
        { name },
        [{ name: `${unit.slice(0, 1).toUpperCase()}${unit.slice(1)}` }, { name: 'Feedback' }, { name: 'Satisfaction' }],
        shown.map((step) => stepRow(site, spanned, step)),
      )}
    </details>
  </section>`
}

/** Five years by month. Spans by day or week have fewer steps. */
const MOST_STEPS = 60

/** The steps of the later span without gaps; of a longer span, those up to the latest feedback. */
const everyStep = ({ after, unit }: Spanned, steps: readonly SpanStep[]): { shown: SpanStep[]; isCut: boolean } => {
  const known = new Map(steps.filter((step) => step.after.feedback > 0).map((step) => [step.key, step]))
  const none = { feedback: 0, rated: 0, satisfaction: null, bad: null }
  const start = startOfStep(dayOf(after.from), unit)
  const latest = [...known.keys()].reduce((one, other) => (one > other ? one : other), dayOf(start.toISOString()))
  const earliest = moved(new Date(latest), unit, 1 - MOST_STEPS)
  const isCut = moved(start, unit, MOST_STEPS).toISOString() < after.to
  const shown: SpanStep[] = []
  let at = isCut && earliest > start ? earliest : start
  while (at.toISOString() < after.to && shown.length < MOST_STEPS) {
    const key = dayOf(at.toISOString())
    shown.push(known.get(key) ?? { key, before: none, after: none })
    at = moved(at, unit, 1)
  }
  return { shown, isCut }
}

const startOfStep = (day: string, unit: SpanUnit): Date => {
  const at = new Date(`${day}T00:00:00Z`)
  if (unit === 'week') at.setUTCDate(at.getUTCDate() - ((at.getUTCDay() + 6) % 7))
  if (unit === 'month') at.setUTCDate(1)
  return at
}

const moved = (from: Date, unit: SpanUnit, steps: number): Date => {
  const at = new Date(from)
  if (unit === 'month') at.setUTCMonth(at.getUTCMonth() + steps)
  else at.setUTCDate(at.getUTCDate() + steps * (unit === 'week' ? 7 : 1))
  return at
}

const pointOf = ({ key, after }: SpanStep, unit: SpanUnit, value: number | null): ChartPoint => ({
  label: unit === 'month' ? key.slice(0, 7) : key.slice(5),
  value,
  tooltip: `${unit} of ${key}: ${number(after.feedback)} feedback, satisfaction ${percent(after.satisfaction)} of ${number(after.rated)} rated`,
})

/** A first or last step that the span cuts counts the days within the span. */
const stepRow = (site: Site, { afterQuery, unit }: Spanned, { key, after }: SpanStep): Html[] => {
  const query = within(afterQuery, stepQuery(key, unit))
  return [html`${key}`, feedbackLink(site, query, number(after.feedback)), satisfactionOf(site, after, query)]
}
