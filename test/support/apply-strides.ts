import type { HashKey } from '../../contract/identity/keys.ts'
import { createSharedStrideStore, createStrideStore } from '../../db/apply/stride-store.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { applyStride } from '../../worker/apply/apply-stride.ts'
import { joinOutcomes, type Stride, type StrideOutcome } from '../../worker/apply/stride-outcome.ts'
import { isOnCitus } from './citus.ts'

type Stores = { sql: Sql; hashKey: HashKey; purgedWorkspaces?: Set<string> }

/**
 * Applies strides of several workspaces side by side, to their ends, in as many jobs as they need.
 * They share statements.
 */
export const applyStrides = async (
  { sql, hashKey, purgedWorkspaces = new Set() }: Stores,
  strides: readonly Stride[],
): Promise<Map<string, StrideOutcome>> => {
  const stores = {
    sql,
    hashKey,
    purgedWorkspaces,
    store: isOnCitus() ? createStrideStore(sql) : createSharedStrideStore(sql),
  }
  const applyWhole = async (stride: Stride): Promise<StrideOutcome> => {
    const outcome = await applyStride(stores, stride, { isShared: false })
    return outcome.end === 'backlog' ? joinOutcomes(outcome, await applyWhole(stride)) : outcome
  }
  const outcomes = await Promise.all(strides.map(applyWhole))
  return new Map(strides.map(({ workspaceId }, at) => [workspaceId, outcomes[at]!]))
}
