import type { Sql } from './postgres.ts'

/** A session of another program whose locks delay statements of the service. */
type Blocker = { pid: number; role: string; program: string; waiting: number; seconds: number }

const LONG_SECONDS = 2

/** The sessions that delay statements which began more than two seconds ago. */
export const findBlockers = async (sql: Sql): Promise<readonly Blocker[]> => sql<Blocker[]>`
    select b.pid, b.usename as role, b.application_name as program, count(*)::int as waiting,
      max(extract(epoch from clock_timestamp() - w.query_start))::int as seconds
    from pg_stat_activity as w
    cross join lateral unnest(pg_blocking_pids(w.pid)) as u (pid)
    join pg_stat_activity as b on b.pid = u.pid
    where w.wait_event_type = 'Lock' and w.datname = current_database()
      and w.application_name like 'feedback-insights-%' and b.application_name not like 'feedback-insights-%'
      and w.query_start < clock_timestamp() - make_interval(secs => ${LONG_SECONDS})
    group by b.pid, b.usename, b.application_name`
