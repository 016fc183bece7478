import type { StoredState } from '../../fold/stored.ts'
import { coalesce } from '../../runtime/coalesce.ts'
import { isUnavailable } from '../../runtime/fault.ts'
import type { Sql } from '../connection/postgres.ts'
import { RECORDS_PER_STEP } from '../purges/removal.ts'
import { load, type LoadRequest } from './load.ts'
import { save, type Saved, type SaveRequest } from './save.ts'

/** What the stride of one workspace does in Postgres. */
export type StrideStore = {
  load: (workspaceId: string, request: Omit<LoadRequest, 'workspaceId'>) => Promise<StoredState>
  save: (workspaceId: string, request: Omit<SaveRequest, 'workspaceId'>) => Promise<Saved>
  /** Moves some records that a save has left to move. Returns whether more may be left. */
  moveRecords: (workspaceId: string) => Promise<boolean>
  /** Removes some records of decided purges. Returns false if there are none. */
  removeRecords: (workspaceId: string) => Promise<boolean>
}

/** A store whose calls have statements of their own. */
export const createStrideStore = (sql: Sql): StrideStore =>
  storeOf(sql, {
    load: async (request) => (await load(sql, [request]))[0]!,
    save: async (request) => (await save(sql, [request]))[0]!,
  })

/** The most workspaces of a statement. */
const TOGETHER = { items: 100, concurrency: Infinity }

/**
 * A store for strides of many workspaces: loads that are asked for in one tick of the event loop
 * share a statement, and so do saves.
 */
export const createSharedStrideStore = (sql: Sql): StrideStore =>
  storeOf(sql, {
    load: share((requests: readonly LoadRequest[]) => load(sql, requests)),
    save: share((requests: readonly SaveRequest[]) => save(sql, requests)),
  })

type Calls = {
  load: (request: LoadRequest) => Promise<StoredState>
  save: (request: SaveRequest) => Promise<Saved>
}

const storeOf = (sql: Sql, calls: Calls): StrideStore => ({
  load: (workspaceId, request) => calls.load({ workspaceId, ...request }),
  save: (workspaceId, request) => calls.save({ workspaceId, ...request }),
  moveRecords: async (workspaceId) => {
    const [row] = await sql<[{ moved: boolean }]>`select move_step(${workspaceId}::uuid) as moved`
    return row.moved
  },
  removeRecords: async (workspaceId) => {
    const [row] = await sql<[{ removed: boolean }]>`
      select remove_step(${workspaceId}::uuid, ${RECORDS_PER_STEP}::int) as removed`
    return row.removed
  },
})

/** The SQLSTATE of a statement that Citus cannot run, since it names workspaces of several nodes. */
const NOT_SUPPORTED = '0A000'

/**
 * If a shared statement fails, each call has a statement of its own, and its own result. If
 * Postgres cannot run shared statements at all, no further call shares one.
 */
const share = <In, Out>(call: (items: readonly In[]) => Promise<readonly Out[]>): ((item: In) => Promise<Out>) => {
  let canShare = true
  const callAlone = async (item: In): Promise<Out> => (await call([item]))[0]!
  const callTogether = coalesce<In, () => Out>(async (items) => {
    try {
      return (await call(items)).map((result) => () => result)
    } catch (error) {
      if (items.length === 1 || isUnavailable(error)) throw error
      canShare &&= (error as { code?: unknown }).code !== NOT_SUPPORTED
      return (await Promise.allSettled(items.map(callAlone))).map((settled) => () => resultOf(settled))
    }
  }, TOGETHER)
  return async (item) => (canShare ? (await callTogether(item))() : callAlone(item))
}

const resultOf = <T>(settled: PromiseSettledResult<T>): T => {
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}
