import type { Receipt } from '../../contract/receipt.ts'
import type { Submission } from '../../contract/submission.ts'
import { callAdmit, createSendAdmit } from '../admission/call-admit.ts'
import type { RedisClient } from '../redis/connect-redis.ts'
import { workspaceKeys } from '../keys.ts'
import { defineWorkspaceScript } from '../redis/lua-script.ts'
import { findQueued, readWaiting } from './read-log.ts'
import { createTake, type Taken, type TakeRequest, type TakeSettings } from './take.ts'

/** The logs of all workspaces, as workers and commands use them. */
export type Log = {
  take: (requests: readonly TakeRequest[], settings: TakeSettings) => Promise<Taken[]>
  /** Gives the leases back that this worker has. */
  release: (worker: string, workspaceIds: readonly string[]) => Promise<void>
  /** Renews the leases that this worker has. A lease that ends counts as a death. */
  renew: (worker: string, workspaceIds: readonly string[], leaseMs: number) => Promise<void>
  /** A quarantine begins: should the worker die now, its submission is the cause. */
  noteAlone: (workspaceId: string) => Promise<void>
  /** The quarantine ended, and the worker lives. */
  noteSurvived: (workspaceId: string) => Promise<void>
  /**
   * Appends submissions of one workspace again, with new numbers above `floor`: dead ones that are
   * replayed, and those that a failover lost. Returns the last new number.
   */
  append: (submissions: readonly Submission[], floor?: number) => Promise<number>
  /** Removes applied entries up to a number at once: a purge has ended. */
  trimThrough: (workspaceId: string, number: number) => Promise<void>
  /** The submissions that are not applied, in order. */
  readWaiting: (workspaceId: string) => AsyncGenerator<Submission>
  /** The receipt of a submission that is not applied. Look here first, and then in Postgres. */
  findQueued: (workspaceId: string, id: string) => Promise<Receipt | undefined>
}

const RELEASE = 0
const LEASES_AT_ONCE = 500

export const createLog = (redis: RedisClient, prefix: string): Log => {
  const holdLeases = defineWorkspaceScript<0 | 1>({ redis, prefix }, { name: 'lease', atOnce: LEASES_AT_ONCE })
  const setLeases = async (worker: string, workspaceIds: readonly string[], leaseMs: number): Promise<void> => {
    await holdLeases(
      [worker, leaseMs],
      workspaceIds.map((workspaceId) => ({ workspaceId, values: [] })),
    )
  }
  const keysOf = (workspaceId: string) => workspaceKeys(prefix, workspaceId)
  return {
    take: createTake(redis, prefix),
    release: (worker, workspaceIds) => setLeases(worker, workspaceIds, RELEASE),
    renew: setLeases,
    noteAlone: async (workspaceId) => {
      await redis.hset(keysOf(workspaceId).state, 'quarantine', 1)
    },
    noteSurvived: async (workspaceId) => {
      await redis.hdel(keysOf(workspaceId).state, 'quarantine', 'alone')
    },
    append: createAppend(redis, prefix),
    trimThrough: async (workspaceId, number) => {
      await redis.xtrim(keysOf(workspaceId).log, 'MINID', '=', `${number + 1}-0`)
    },
    readWaiting: (workspaceId) => readWaiting(redis, prefix, workspaceId),
    findQueued: (workspaceId, id) => findQueued(redis, prefix, { workspaceId, id }),
  }
}

/** One entry each, so that a purge is alone. Few submissions come here. */
const createAppend = (redis: RedisClient, prefix: string): Log['append'] => {
  const send = createSendAdmit(redis)
  return async (submissions, floor = 0) => {
    let last = floor
    for (const submission of submissions) {
      const { workspaceId } = submission
      const { askings } = await callAdmit({ prefix, send }, { workspaceId, floor: last }, [requestAgain(submission)])
      const [asking] = askings
      if (asking?.outcome !== 'admitted') throw new Error(`Redis answered ${asking?.outcome} to an append.`)
      last = asking.number
    }
    return last
  }
}

/** Its idempotency key leads to its first admission, and is not looked up again. */
const requestAgain = ({ operation, workspaceId, body, ...submission }: Submission) => ({
  operation,
  workspaceId,
  bodyText: JSON.stringify(body),
  traceparent: submission.traceparent,
  again: {
    submissionId: submission.submissionId,
    originalNumber: submission.originalNumber ?? submission.number,
    idempotency: submission.idempotency,
  },
})
