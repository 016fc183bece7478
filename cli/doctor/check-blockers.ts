import { findBlockers } from '../../db/connection/blockers.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { type Finding, warning } from './finding.ts'

export const checkBlockers = async (sql: Sql): Promise<Finding[]> =>
  (await findBlockers(sql)).map(({ pid, role, program, waiting, seconds }) =>
    warning(
      `The session ${pid} of role ${role}${program === '' ? '' : ` (${program})`} holds locks for which ${waiting} statements of the service have waited for up to ${seconds} s.`,
      `End its transaction, or the session: select pg_terminate_backend(${pid})`,
    ),
  )
