import * as fc from 'fast-check'
import { isRemoval, type Submission } from '../../contract/submission.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { finishPurge } from '../../db/purges/removal.ts'
import type { Stride } from '../../worker/apply/stride-outcome.ts'
import { applyStrides } from './apply-strides.ts'
import { WORKSPACES } from '../model/submission-arbitrary.ts'
import { hashKey } from './schema.ts'

/**
 * How a history reaches the workers. Each turn takes the next element of each list. `sizes`: the
 * new submissions of a stride; a second writer takes the element after it. `again`: the applied
 * submissions before them that the stride repeats. `writers`: how many apply strides at once.
 * `removals`: the removal steps after the strides.
 */
export const schedules = fc.record({
  sizes: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 4, maxLength: 8 }),
  again: fc.array(fc.nat({ max: 4 }), { minLength: 3, maxLength: 5 }),
  writers: fc.array(fc.constantFrom(1, 2), { minLength: 3, maxLength: 5 }),
  removals: fc.array(fc.nat({ max: 3 }), { minLength: 3, maxLength: 5 }),
})
export type Schedule = (typeof schedules extends fc.Arbitrary<infer T> ? T : never) & {
  /** Checks the tables between steps. */
  onStep?: () => Promise<void>
}

/** Few records a step, so that a removal takes many steps. */
const RECORDS_PER_STEP = [1, 2, 1, 3]

/** Delivers the history until all submissions are applied and all purged records are removed. */
export const deliver = async (sql: Sql, history: readonly Submission[], schedule: Schedule): Promise<void> => {
  const logs = new Map(WORKSPACES.map((id) => [id, history.filter(({ workspaceId }) => workspaceId === id)]))
  const dependencies = { sql, hashKey, purgedWorkspaces: new Set<string>() }
  await noteReplays(sql, history)
  const { onStep = async () => {} } = schedule
  const inTurn = <T>(list: readonly T[], turn: number): T => list[turn % list.length]!
  for (let turn = 0; ; turn++) {
    const positions = await readPositions(sql)
    const strides = (more: number): Stride[] =>
      [...logs].flatMap(([workspaceId, log]) => {
        const next = log.findIndex(({ number }) => number > positions.get(workspaceId)!)
        if (next < 0) return []
        const from = Math.max(0, next - inTurn(schedule.again, turn))
        const submissions = log.slice(from, next + inTurn(schedule.sizes, turn + more))
        return [{ workspaceId, after: log[from - 1]?.number ?? 0, submissions }]
      })
    if (strides(0).length === 0) break
    const writers = Array.from({ length: inTurn(schedule.writers, turn) }, (_, writer) => strides(writer))
    await Promise.all(writers.map((own) => applyStrides(dependencies, own)))
    await onStep()
    await takeRemovalSteps(sql, inTurn(schedule.removals, turn), onStep)
  }
  await takeRemovalSteps(sql, Number.POSITIVE_INFINITY, onStep)
}

/**
 * Submissions with an odd original number, except purges, are replays of dead ones: their receipts
 * are queued again. The others with an original number were lost by a failover, without a receipt.
 */
const noteReplays = async (sql: Sql, history: readonly Submission[]): Promise<void> => {
  const dead = history.filter((submission) => (submission.originalNumber ?? 0) % 2 === 1 && !isRemoval(submission))
  const rows = dead.map(({ workspaceId, submissionId, originalNumber, operation }) => ({
    workspace_id: workspaceId,
    id: submissionId,
    acceptance_number: originalNumber!,
    operation,
  }))
  await sql`
    with receipts as (
      insert into submission (workspace_id, id, acceptance_number, operation, state, attempts)
      select workspace_id, id, acceptance_number, operation, 'queued', 1
      from jsonb_populate_recordset(null::submission, ${sql.json(rows)})
    )
    insert into dead_submission (workspace_id, id, reason, submission, keys, replayed_at)
    select workspace_id, id, 'Poison', '{}', '{}', now() from jsonb_populate_recordset(null::submission, ${sql.json(rows)})`
}

const readPositions = async (sql: Sql): Promise<Map<string, number>> => {
  const rows = await sql<{ workspace_id: string; position: number }[]>`
    select workspace_id, applied_number::float8 as position from workspace_progress`
  return new Map(rows.map(({ workspace_id, position }) => [workspace_id, position]))
}

/** Takes this many removal steps, or fewer if no purge is left. */
const takeRemovalSteps = async (sql: Sql, steps: number, onStep: () => Promise<void>): Promise<void> => {
  for (let step = 0; step < steps; step++) {
    const [purge] = await sql<{ workspace_id: string; id: string }[]>`
      select workspace_id, id from purge order by md5(id::text || ${step}) limit 1`
    if (purge === undefined) return
    const [row] = await sql<{ removed: number }[]>`
      select purge_step(${purge.workspace_id}, ${purge.id}, ${RECORDS_PER_STEP[step % RECORDS_PER_STEP.length]!}) as removed`
    if (row!.removed === 0) await finishPurge(sql, { workspaceId: purge.workspace_id, purgeId: purge.id, attempts: 1 })
    await onStep()
  }
}
