import type { Alert } from '../contract/record-schemas.ts'
import { html, type Html } from './html.ts'
import { decimal, dayOf, label, plural } from './parts.ts'
import { linkTo, type PageAsked } from './site.ts'
import type { Spanned, ViewQuery } from './view.ts'

/** A page shows at most so many alerts. */
const MOST = 8
const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000'

/** What the service told within the span without being asked, the latest first. */
export const alertList = async ({ site, reads }: PageAsked, { after }: Spanned): Promise<Html> => {
  const { records } = await reads.list({
    kind: 'alert',
    limit: MOST,
    isOldestFirst: false,
    filters: {},
    after: { at: after.to.slice(0, 'YYYY-MM-DD HH:MM:SS'.length).replace('T', ' '), id: BEFORE_ALL_IDS },
  })
  const alerts = records
    .map((record) => JSON.parse(record) as Alert)
    .filter(({ createdAt }) => Date.parse(createdAt) >= Date.parse(after.from))
  if (alerts.length === 0) return html``
  return html`<section class="news">
    <h2>Alerts</h2>
    <ul>
      ${alerts.map((alert) => html`<li>${linkTo(site, targetOf(alert), headOf(alert))}: ${noteOf(alert)}</li> `)}
    </ul>
  </section>`
}

const headOf = ({ subject, change, name, source, kind }: Alert): Html => {
  const named = html`${subject} ${label(name ?? source ?? kind ?? 'without a name')}`
  switch (change) {
    case 'new':
      return html`New ${named}`
    case 'unhappy':
      return html`Less satisfied: ${named}`
    default:
      return html`More than before: ${named}`
  }
}

const noteOf = ({ change, days, people, expected, createdAt }: Alert): string =>
  `${plural(people, 'person', 'people')}${change === 'unhappy' ? ' unhappy' : ''} in ${plural(days, 'day')} up to ` +
  `${dayOf(createdAt)}, where ${decimal(expected)} were to be expected`

/** The page with the texts of the days that were compared. */
const targetOf = ({ themeId, accountId, name, ...alert }: Alert): { path: string; query: ViewQuery } => {
  const to = new Date(alert.createdAt)
  const first = new Date(to.getTime() - (alert.days - 1) * MS_PER_DAY)
  const days = {
    createdFrom: `${first.toISOString().slice(0, 'YYYY-MM-DD'.length)}T00:00:00Z`,
    createdTo: to.toISOString(),
  }
  switch (alert.subject) {
    case 'theme':
      return { path: `/themes/${themeId ?? ''}`, query: days }
    case 'account':
      return { path: `/accounts/${accountId ?? ''}`, query: days }
    case 'tag':
      return { path: '/feedback', query: { tag: name, ...days } }
    case 'kind':
      return { path: '/feedback', query: { kind: alert.kind, ...days } }
    default:
      return { path: '/feedback', query: { source: alert.source, satisfactionMax: '0.4', ...days } }
  }
}

const MS_PER_DAY = 86_400_000
