import { hashKeyFrom } from '../../contract/identity/keys.ts'
import type { Submission } from '../../contract/submission.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { applyStrides } from '../../worker/apply/apply-strides.ts'
import type { StrideResult } from '../../worker/apply/stride-work.ts'
import { submissionHistories } from '../model/submission-arbitrary.ts'

export const LENGTH = 30
export const hashKey = hashKeyFrom('5a'.repeat(32))

/**
 * Histories of up to 30 submissions. Postgres stores whole microseconds, like acceptance numbers.
 */
export const histories = submissionHistories({ hashKey, maxLength: LENGTH, firstNumber: 1_000_000 })

/** The workspaces of a history, made like those of `npm run workspace`. */
export const makeWorkspaces = async (sql: Sql, workspaceIds: readonly string[]): Promise<void> => {
  await sql`
    with made as (
      insert into workspace (id, name) select w, w::text from unnest(${[...workspaceIds]}::uuid[]) as w
      on conflict do nothing
    )
    insert into workspace_progress (workspace_id) select unnest(${[...workspaceIds]}::uuid[])
    on conflict do nothing`
}

type Delivery = {
  /** The sizes of the strides, used in turn. */
  sizes?: readonly number[]
  /**
   * Receives each result. A purge that matched is in `decided`, and its records are not removed
   * yet.
   */
  onResult?: (workspaceId: string, result: StrideResult) => Promise<void>
}

/** Applies the submissions of each workspace in strides, one after the other. */
export const applyHistory = async (
  sql: Sql,
  history: readonly Submission[],
  { sizes = [8], onResult = async () => {} }: Delivery = {},
): Promise<void> => {
  const byWorkspace = Map.groupBy(history, ({ workspaceId }) => workspaceId)
  await makeWorkspaces(sql, [...byWorkspace.keys()])
  let strides = 0
  for (const [workspaceId, submissions] of byWorkspace) {
    let position = 0
    for (let left = submissions; left.length > 0; left = submissions.filter(({ number }) => number > position)) {
      const stride = { workspaceId, after: position, submissions: left.slice(0, sizes[strides++ % sizes.length]) }
      const result = (await applyStrides({ sql, hashKey }, [stride])).get(workspaceId)!
      await onResult(workspaceId, result)
      if (result.outcome !== 'applied') throw new Error(`A stride was ${result.outcome}`)
      position = result.position
    }
  }
}
