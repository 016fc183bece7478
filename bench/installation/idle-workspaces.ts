import { createAdmit } from '../../queue/admission/admit.ts'
import { createLog } from '../../queue/log/log.ts'
import type { Service } from './service.ts'

const AT_ONCE = 1_000
/** No worker keeps the applied entries. */
const TAKE = { worker: 'bench', leaseMs: 60_000, submissions: 1, bytes: 1, takesDeep: true, redoMs: 0 }

/**
 * Makes workspaces that are idle: a submission with an idempotency key was applied in each of them.
 */
export const makeIdleWorkspaces = async (service: Service, count: number): Promise<void> => {
  const { sql, redis, prefix } = service
  const rows = await sql<{ id: string }[]>`
    insert into workspace (id, name) select gen_random_uuid(), 'idle ' || n from generate_series(1, ${count}::int) as n
    returning id`
  const log = createLog(redis, prefix)
  const wake = { wake: async () => {} }
  const admit = createAdmit({ redis, prefix, wake, findStoredKey: async () => ({ state: 'unused' }) })
  for (let at = 0; at < rows.length; at += AT_ONCE) {
    const ids = rows.slice(at, at + AT_ONCE).map(({ id }) => id)
    const admitted = await Promise.all(
      ids.map((workspaceId) => {
        const idempotency = { key: 'f'.padEnd(22, '-'), body: 'body-hash' }
        return admit({ workspaceId, operation: 'create_feedback', bodyText: '{"description":"x"}', idempotency })
      }),
    )
    const numbers = admitted.map((admission) => (admission.outcome === 'admitted' ? admission.number : 0))
    await sql`
      with settled as (select * from unnest(${ids}::uuid[], ${numbers}::bigint[]) as s (id, number)), progress as (
        insert into workspace_progress (workspace_id, applied_number, applied) select id, number, 1 from settled
      )
      insert into submission (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
      select id, id, number, 'create_feedback', 'applied', 1, now() from settled`
    await log.take(
      ids.map((workspaceId, place) => ({ workspaceId, applied: numbers[place] })),
      TAKE,
    )
  }
  await sql`vacuum analyze workspace, workspace_progress, submission`
}
