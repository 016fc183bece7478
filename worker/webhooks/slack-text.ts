import type { Alert, Digest } from '../../contract/record-schemas.ts'
import type { Change } from '../../db/reads/changes.ts'

/** An alert or a digest as the text of a message in Slack's mrkdwn. `record`: JSON. */
export const slackText = ({ kind, record }: { kind: Change['kind']; record: string }): string =>
  kind === 'digest' ? digestText(JSON.parse(record) as Digest) : alertText(JSON.parse(record) as Alert)

const alertText = (alert: Alert): string => {
  const days = alert.days === 1 ? 'a day' : `${alert.days} days`
  const people = `${countOf(alert.people)}${alert.change === 'unhappy' ? ' unhappy' : ''} in ${days}`
  return `*${escaped(headOf(alert))}*: ${people}, where ${Math.round(10 * alert.expected) / 10} were to be expected`
}

const headOf = ({ subject, change, name, source, kind }: Alert): string => {
  const named = `${subject} ${name ?? source ?? kind ?? 'without a name'}`
  switch (change) {
    case 'new':
      return `New ${named}`
    case 'unhappy':
      return `Less satisfied: ${named}`
    default:
      return `More than before: ${named}`
  }
}

const digestText = ({ week, alerts, changes }: Digest): string =>
  [
    `*Week of ${week.slice(0, 'YYYY-MM-DD'.length)}*`,
    ...alerts.map((alert) => `• ${alertText(alert)}`),
    ...changes.map(({ subject, name, kind, people, before }) => {
      const named = escaped(`${subject} ${name ?? kind ?? 'without a name'}`)
      return `• ${named}: ${countOf(people)}, and ${before} in a mean week before`
    }),
  ].join('\n')

const countOf = (people: number): string => (people === 1 ? '1 person' : `${people} people`)

/** The three characters that Slack reads as control characters. A line break would begin a new point. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll(/\s+/g, ' ')
