import type { Sql } from '../../db/postgres.ts'
import { type Finding, warning } from './finding.ts'

const LONG_SECONDS = 2

/**
 * Sessions of others that hold locks for which a statement of the service has waited for seconds.
 * The service itself holds none for so long.
 */
export const checkBlockers = async (sql: Sql): Promise<Finding[]> => {
  const rows = await sql<{ pid: number; role: string; program: string; waiting: number; seconds: number }[]>`
    select b.pid, b.usename as role, b.application_name as program, count(*)::int as waiting,
      max(extract(epoch from clock_timestamp() - w.query_start))::int as seconds
    from pg_stat_activity as w
    cross join lateral unnest(pg_blocking_pids(w.pid)) as u (pid)
    join pg_stat_activity as b on b.pid = u.pid
    where w.wait_event_type = 'Lock' and w.application_name like 'feedback-insights-%'
      and b.application_name not like 'feedback-insights-%'
      and w.query_start < clock_timestamp() - make_interval(secs => ${LONG_SECONDS})
    group by b.pid, b.usename, b.application_name`
  return rows.map(({ pid, role, program, waiting, seconds }) =>
    warning(
      `The session ${pid} of role ${role}${program === '' ? '' : ` (${program})`} holds locks for which ${waiting} statements of the service have waited for up to ${seconds} s.`,
      `End its transaction, or the session: select pg_terminate_backend(${pid})`,
    ),
  )
}
