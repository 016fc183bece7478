import { htmlAsText } from '../../runtime/reduce-html.ts'
import { columnChart, shareChart, type ChartPoint, sparkline } from './charts.ts'
import { html, type Html, trusted } from './html.ts'
import { sourceTable } from './report-sources.ts'
import type { Account, FeedbackExample, Project, Report, ReportTotals, TrendStep, Topic, Unit } from './report.ts'
import { number, percent, rating, scoreOf, signed, table } from './report-parts.ts'

const MOST_CHARACTERS = 600
const LEAST_DROP_MARKED = 0.1

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
    ${tile('Satisfaction', percent(now.satisfaction), satisfactionNote(now, before))}
    ${tile('People', number(now.contacts), change(now.contacts, before.contacts))}
    ${tile('Accounts', number(now.accounts), change(now.accounts, before.accounts))}
  </section>`

const satisfactionNote = (now: ReportTotals, before: ReportTotals): string =>
  [
    `${number(now.rated)} rated`,
    ...(now.bad === null ? [] : [`${percent(now.bad)} bad`]),
    ...(now.satisfaction === null || before.satisfaction === null
      ? []
      : [`${signed(100 * (now.satisfaction - before.satisfaction))} points`]),
  ].join(', ')

const tile = (name: string, value: string, note: string): Html =>
  html`<div>
    <h2>${name}</h2>
    <p class="figure">${value}</p>
    <p class="note">${note}</p>
  </div>`

const changes = ({ steps, period: { unit } }: Report): Html =>
  html`<section>
    <h2>Changes</h2>
    <figure>
      <figcaption>Feedback each ${unit}; the first and the last ${unit} may be incomplete</figcaption>
      ${columnChart(
        `Feedback each ${unit}`,
        steps.map((step) => pointOf(step, unit, 'feedback')),
      )}
    </figure>
    <figure>
      <figcaption>Satisfaction each ${unit}</figcaption>
      ${shareChart(
        `Satisfaction each ${unit}`,
        steps.map((step) => pointOf(step, unit, 'satisfaction')),
      )}
    </figure>
  </section>`

const pointOf = (step: TrendStep, unit: Unit, kind: 'feedback' | 'satisfaction'): ChartPoint => ({
  label: unit === 'month' ? step.begin.toISOString().slice(0, 7) : step.begin.toISOString().slice(5, 10),
  value: step[kind],
  tooltip: `${unit} of ${day(step.begin)}: ${number(step.feedback)} feedback, satisfaction ${scoreOf(step)}`,
})

const news = (report: Report): Html =>
  html`<section class="news">
    <h2>New in the seven days up to ${day(lastMoment(report))}</h2>
    <ul>
      ${report.news.map(
        (each) =>
          html`<li>
            <strong><bdi>${each.tag}</bdi></strong
            >: ${number(each.feedback)} feedback, satisfaction ${scoreOf(each)}; in the eight weeks before,
            ${each.weeklyBefore.toFixed(1)} a week${exampleList(each.examples)}
          </li>`,
      )}
    </ul>
  </section>`

const topics = ({ topics: found, period: { unit } }: Report): Html => {
  const most = Math.max(...found.map(({ feedback }) => feedback), 1)
  const headings = ['Topic', 'Feedback', `Each ${unit}`, 'Change', 'Satisfaction', 'Accounts', 'Contract value']
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
      <td>${scoreOf(topic)}</td>
      <td>${number(topic.accounts)}</td>
      <td>${number(topic.contractValue)}</td>
    </tr>
    <tr class="examples">
      <td colspan="7">${exampleList(topic.examples)}</td>
    </tr>`

const accounts = ({ accounts: found }: Report): Html => {
  const most = Math.max(...found.map(({ contractValue }) => contractValue ?? 0), 1)
  const headings = [
    'Account',
    'Contract value',
    'Feedback',
    'Satisfaction',
    'Satisfaction before',
    'Most frequent tags',
  ]
  const rows = found.map((account) => accountRow(account, most))
  return html`<section>
    <h2>Accounts</h2>
    <p>Of the accounts that gave feedback, those with the highest contract value.</p>
    ${rows.length === 0 ? html`<p>No feedback of accounts.</p>` : table('Accounts', headings, rows)}
  </section>`
}

const accountRow = (account: Account, most: number): Html => {
  const { name, contractValue, feedback, satisfaction: now, before, tags } = account
  const isWorse = now !== null && before.satisfaction !== null && before.satisfaction - now >= LEAST_DROP_MARKED
  return html`<tr>
    <th scope="row"><bdi>${name ?? '(no name)'}</bdi></th>
    <td>${contractValue === null ? '–' : bar(contractValue, most)}</td>
    <td>${number(feedback)}</td>
    <td>${isWorse ? html`<strong class="worse">${scoreOf(account)} ↓</strong>` : scoreOf(account)}</td>
    <td>${scoreOf(before)}</td>
    <td>${tags.map((tag) => html`<span class="tag"><bdi>${tag}</bdi></span> `)}</td>
  </tr>`
}

const satisfaction = ({ workspace, sources, projects }: Report): Html =>
  html`<section>
    <h2>Satisfaction</h2>
    ${sourceTable(workspace, sources)}
    ${table('Projects', ['Project', 'Feedback', 'Satisfaction'], projects.map(projectRow))}
  </section>`

const projectRow = (project: Project): Html =>
  html`<tr>
    <th scope="row"><bdi>${project.project}</bdi></th>
    <td>${number(project.feedback)}</td>
    <td>${scoreOf(project)}</td>
  </tr>`

const exampleList = (examples: readonly FeedbackExample[]): Html =>
  examples.length === 0
    ? html``
    : html`<details>
        <summary>Examples</summary>
        ${examples.map(
          ({ description, rating: given, satisfaction: share, at, contact, account }) =>
            html`<blockquote>
              <p dir="auto">${cut(htmlAsText(description))}</p>
              <footer>
                <bdi>${[contact, account].filter((name) => name !== null).join(', ') || 'Unknown'}</bdi>, ${day(at)},
                rated ${rating(given)}${share === null ? '' : ` (${percent(share)})`}
              </footer>
            </blockquote>`,
        )}
      </details>`

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

const change = (now: number, before: number): string => {
  if (before === 0) return now === 0 ? '' : 'new'
  return `${signed((100 * (now - before)) / before)} %`
}
