import { htmlAsText } from '../../runtime/reduce-html.ts'
import { columnChart, lineChart, niceTop, type ChartPoint, sparkline } from './charts.ts'
import { html, type Html, trusted } from './html.ts'
import type { Account, FeedbackExample, Project, Report, SourceRatings, TrendStep, Topic, Unit } from './report.ts'

const MOST_CHARACTERS = 600
/** Ratings usually go from 1 to 5, or to 10. The axis reaches further if a mean rating does. */
const LOWEST_RATING = 1
const SHORT_SCALE = 5
const LONG_SCALE = 10
const LEAST_DROP_MARKED = 0.5

/** The whole page in one file, which has no scripts and loads no other files. */
export const reportPage = (report: Report, style: string, madeAt: Date): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="referrer" content="no-referrer" />
        <meta
          http-equiv="Content-Security-Policy"
          content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"
        />
        <link rel="icon" href="data:," />
        <title>What customers say: ${report.workspace}</title>
        <style>
          ${trusted(style)}
        </style>
      </head>
      <body>
        <header>
          <h1>What customers say</h1>
          <p>
            Workspace <bdi>${report.workspace}</bdi>, ${day(report.period.since)} to ${day(lastMoment(report))} (UTC),
            compared with the preceding time of the same length
          </p>
        </header>
        <main>
          ${tiles(report)} ${changes(report)} ${report.news.length > 0 ? news(report) : html``} ${topics(report)}
          ${accounts(report)} ${satisfaction(report)}
        </main>
        <footer>
          <p>
            Made ${day(madeAt)} by <code>npm run report</code>. This file has names and texts of customers. A purge does
            not remove it, so delete it after reading.
          </p>
        </footer>
      </body>
    </html> `

const tiles = ({ now, before }: Report): Html =>
  html`<section class="tiles" aria-label="Summary">
    ${tile('Feedback', number(now.feedback), change(now.feedback, before.feedback))}
    ${tile('Mean rating', rating(now.rating), now.rating === null || before.rating === null ? '' : `${signed(now.rating - before.rating)} compared with before`)}
    ${tile('People', number(now.contacts), change(now.contacts, before.contacts))}
    ${tile('Accounts', number(now.accounts), change(now.accounts, before.accounts))}
  </section>`

const tile = (name: string, value: string, note: string): Html =>
  html`<div>
    <h2>${name}</h2>
    <p class="figure">${value}</p>
    <p class="note">${note}</p>
  </div>`

const changes = ({ steps, period: { unit } }: Report): Html => {
  const ratings = steps.flatMap((step) => step.rating ?? [])
  const most = Math.max(SHORT_SCALE, ...ratings)
  const top = most > SHORT_SCALE ? niceTop(Math.max(LONG_SCALE, most)) : SHORT_SCALE
  const ends: [number, number] = [Math.floor(Math.min(LOWEST_RATING, ...ratings)), top]
  return html`<section>
    <h2>Changes</h2>
    <figure>
      <figcaption>Feedback each ${unit}; the first and the last ${unit} may be incomplete</figcaption>
      ${columnChart(
        `Feedback each ${unit}`,
        steps.map((step) => pointOf(step, unit, 'feedback')),
      )}
    </figure>
    <figure>
      <figcaption>Mean rating each ${unit}</figcaption>
      ${lineChart(
        `Mean rating each ${unit}`,
        steps.map((step) => pointOf(step, unit, 'rating')),
        ends,
      )}
    </figure>
  </section>`
}

const pointOf = (step: TrendStep, unit: Unit, kind: 'feedback' | 'rating'): ChartPoint => ({
  label: unit === 'month' ? step.begin.toISOString().slice(0, 7) : step.begin.toISOString().slice(5, 10),
  value: step[kind],
  tooltip: `${unit} of ${day(step.begin)}: ${number(step.feedback)} feedback, rated ${rating(step.rating)}`,
})

const news = (report: Report): Html =>
  html`<section class="news">
    <h2>New in the seven days up to ${day(lastMoment(report))}</h2>
    <ul>
      ${report.news.map(
        ({ tag, feedback, weeklyBefore, rating: rated, examples }) =>
          html`<li>
            <strong><bdi>${tag}</bdi></strong
            >: ${number(feedback)} feedback, rated ${rating(rated)}; in the eight weeks before,
            ${weeklyBefore.toFixed(1)} a week${exampleList(examples)}
          </li>`,
      )}
    </ul>
  </section>`

const topics = ({ topics: found, period: { unit } }: Report): Html => {
  const most = Math.max(...found.map(({ feedback }) => feedback), 1)
  const headings = ['Topic', 'Feedback', `Each ${unit}`, 'Change', 'Rating', 'Accounts', 'Contract value']
  const rows = found.map((topic) => topicRows(topic, most))
  return html`<section>
    <h2>Topics</h2>
    ${rows.length === 0 ? html`<p>No feedback has tags.</p>` : table('Topics', headings, rows)}
  </section>`
}

const topicRows = (topic: Topic, most: number): Html =>
  html`<tr>
      <th scope="row"><bdi>${topic.tag}</bdi></th>
      <td>${bar(topic.feedback, most)}</td>
      <td>${sparkline(`Feedback over time: ${topic.steps.join(', ')}`, topic.steps)}</td>
      <td>${change(topic.feedback, topic.before)}</td>
      <td>${rating(topic.rating)}</td>
      <td>${number(topic.accounts)}</td>
      <td>${number(topic.contractValue)}</td>
    </tr>
    <tr class="examples">
      <td colspan="7">${exampleList(topic.examples)}</td>
    </tr>`

const accounts = ({ accounts: found }: Report): Html => {
  const most = Math.max(...found.map(({ contractValue }) => contractValue ?? 0), 1)
  const headings = ['Account', 'Contract value', 'Feedback', 'Rating', 'Rating before', 'Mostly about']
  const rows = found.map((account) => accountRow(account, most))
  return html`<section>
    <h2>Accounts</h2>
    <p>Of the accounts that gave feedback, those with the highest contract value.</p>
    ${rows.length === 0 ? html`<p>No feedback of accounts.</p>` : table('Accounts', headings, rows)}
  </section>`
}

const accountRow = (
  { name, contractValue, feedback, rating: rated, ratingBefore, tags }: Account,
  most: number,
): Html => {
  const isWorse = rated !== null && ratingBefore !== null && ratingBefore - rated >= LEAST_DROP_MARKED
  return html`<tr>
    <th scope="row"><bdi>${name ?? '(no name)'}</bdi></th>
    <td>${contractValue === null ? '–' : bar(contractValue, most)}</td>
    <td>${number(feedback)}</td>
    <td>${isWorse ? html`<strong class="worse">${rating(rated)} ↓</strong>` : rating(rated)}</td>
    <td>${rating(ratingBefore)}</td>
    <td>${tags.map((tag) => html`<span class="tag"><bdi>${tag}</bdi></span> `)}</td>
  </tr>`
}

const satisfaction = ({ sources, projects }: Report): Html =>
  html`<section>
    <h2>Satisfaction</h2>
    <p>
      For a source, only ratings from 0 to 10 count, and the highest of them shows the scale. Up to 5, the table has
      CSAT: the percentage of ratings of 4 or more. Above 5, it has NPS: the percentage of 9 or more, less the
      percentage of 6 or less.
    </p>
    <div class="halves">
      ${table('Sources', ['Source', 'Ratings', 'CSAT', 'NPS'], sources.map(sourceRow))}
      ${table('Projects', ['Project', 'Feedback', 'Rating'], projects.map(projectRow))}
    </div>
  </section>`

const sourceRow = ({ source, ratings, csat, nps }: SourceRatings): Html =>
  html`<tr>
    <th scope="row"><bdi>${source}</bdi></th>
    <td>${number(ratings)}</td>
    <td>${csat === null ? '–' : `${Math.round(csat)} %`}</td>
    <td>${nps === null ? '–' : signed(Math.round(nps), 0)}</td>
  </tr>`

const projectRow = ({ project, feedback, rating: rated }: Project): Html =>
  html`<tr>
    <th scope="row"><bdi>${project}</bdi></th>
    <td>${number(feedback)}</td>
    <td>${rating(rated)}</td>
  </tr>`

const exampleList = (examples: readonly FeedbackExample[]): Html =>
  examples.length === 0
    ? html``
    : html`<details>
        <summary>Examples</summary>
        ${examples.map(
          ({ description, rating: rated, at, contact, account }) =>
            html`<blockquote>
              <p dir="auto">${cut(htmlAsText(description))}</p>
              <footer>
                <bdi>${[contact, account].filter((name) => name !== null).join(', ') || 'Unknown'}</bdi>, ${day(at)},
                rated ${rating(rated)}
              </footer>
            </blockquote>`,
        )}
      </details>`

const table = (name: string, headings: readonly string[], rows: readonly Html[]): Html =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="${name}">
    <table>
      <thead>
        <tr>
          ${headings.map((heading) => html`<th scope="col">${heading}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`

const bar = (value: number, most: number): Html =>
  html`<span class="bar"
    ><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect width="${((100 * value) / most).toFixed(1)}" height="10" rx="1" /></svg
    >${number(value)}</span
  >`

const cut = (text: string): string => {
  const characters = [...text]
  return characters.length > MOST_CHARACTERS ? `${characters.slice(0, MOST_CHARACTERS).join('')}…` : text
}

const day = (at: Date): string => at.toISOString().slice(0, 10)
const lastMoment = ({ period }: Report): Date => new Date(period.until.getTime() - 1)
const number = (value: number | null): string => (value === null ? '–' : Math.round(value).toLocaleString('en'))
const rating = (value: number | null): string => (value === null ? '–' : value.toFixed(1))
const signed = (value: number, digits = 1): string =>
  `${value > 0 ? '+' : ''}${value.toFixed(digits)}`.replace('-', '−')

const change = (now: number, before: number): string => {
  if (before === 0) return now === 0 ? '' : 'new'
  return `${signed((100 * (now - before)) / before, 0)} %`
}
