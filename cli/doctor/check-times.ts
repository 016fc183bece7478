import type { Sql } from '../../db/connection/postgres.ts'
import { type Checked, warning } from './finding.ts'

/** For "not set", some sources write the start of their calendar, such as 1900, 1970 or 1980. */
const FIRST_LIKELY_YEAR = 1981
/** Clocks of sources differ, and dates without a zone can be a day ahead. */
const AHEAD_HOURS = 26
const MOST_COUNTED = 1_000
const WORKSPACES_NAMED = 10

/** A finding about feedback with impossible dates. Reads only both ends of an index by time. */
export const checkTimes = async (sql: Sql): Promise<Checked[]> => {
  const rows = await sql<{ name: string; early: number; late: number }[]>`
    select w.name, e.early, l.late
    from workspace as w join workspace_progress as p on p.workspace_id = w.id
    cross join lateral (
      select count(*)::int as early from (
        select from feedback as f
        where f.workspace_id = p.workspace_id and f.created_at < make_timestamptz(${FIRST_LIKELY_YEAR}, 1, 1, 0, 0, 0, 'UTC')
        limit ${MOST_COUNTED}
      ) as found
    ) as e
    cross join lateral (
      select count(*)::int as late from (
        select from feedback as f
        where f.workspace_id = p.workspace_id and f.created_at > now() + make_interval(hours => ${AHEAD_HOURS})
        limit ${MOST_COUNTED}
      ) as found
    ) as l
    where e.early + l.late > 0
    order by e.early + l.late desc, w.name
    limit ${WORKSPACES_NAMED}`
  if (rows.length === 0) return []
  const counted = (count: number): string => (count === MOST_COUNTED ? `${count} or more` : String(count))
  const named = rows.map(
    ({ name, early, late }) =>
      `${name} has ${counted(late)} in the future and ${counted(early)} before ${FIRST_LIKELY_YEAR}`,
  )
  return [
    warning(
      `Feedback has impossible dates: ${named.join('; ')}. Reports of the last months lack this feedback.`,
      'Find out what the source writes for "not set". Submit the feedback again under the same sourceId, with a correct createdAt or none.',
    ),
  ]
}
