import type { Sql } from './postgres.ts'

/** A session of another program whose locks delay statements of the service. */
type Blocker = { pid: number; role: string; program: string; waiting: number; seconds: number }

const LONG_SECONDS = 2

/** The sessions that delay statements which began more than two seconds ago. */
export const findBlockers = async (sql: Sql): Promise<readonly Blocker[]> => {
  // All processes share a name if DATABASE_URL has an application_name.
  const isOwn = (name: ReturnType<Sql>) =>
    sql`(${name} like 'feedback-insights-%' or ${name} = current_setting('application_name'))`
  return sql<Blocker[]>`
    select b.pid, b.usename as role, b.application_name as program, count(*)::int as waiting,
      max(extract(epoch from clock_timestamp() - w.query_start))::int as seconds
    from pg_stat_activity as w
    cross join lateral unnest(pg_blocking_pids(w.pid)) as u (pid)
    join pg_stat_activity as b on b.pid = u.pid
    where w.wait_event_type = 'Lock' and w.datname = current_database()
      and ${isOwn(sql`w.application_name`)} and not ${isOwn(sql`b.application_name`)}
      and w.query_start < clock_timestamp() - make_interval(secs => ${LONG_SECONDS})
    group by b.pid, b.usename, b.application_name`
}
