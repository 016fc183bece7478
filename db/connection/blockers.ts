import type { Sql } from './postgres.ts'

/** A session of another program that holds locks for which statements of the service wait. */
export type Blocker = { pid: number; role: string; program: string; waiting: number; seconds: number }

const LONG_SECONDS = 2

/** Those that have held statements up for seconds. The service itself holds no lock for so long. */
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
