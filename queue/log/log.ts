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
  /** Releases the leases of this worker. */
  release: (worker: string, workspaceIds: readonly string[]) => Promise<void>
  /** Renews the leases of this worker. A lease that runs out counts as a death. */
  renew: (worker: string, workspaceIds: readonly string[], leaseMs: number) => Promise<void>
  /** Notes that a quarantine begins. If the worker dies in it, the submission is the cause. */
  noteQuarantine: (workspaceId: string) => Promise<void>
  /** Notes that the worker survived the quarantine. */
  noteSurvived: (workspaceId: string) => Promise<void>
  /**
   * Appends submissions of one workspace again, with new numbers above `floor`: replays, and
   * submissions that a failover lost. Returns the last new number.
   */
  append: (submissions: readonly Submission[], floor?: number) => Promise<number>
  /** Removes applied entries up to a number at once. The end of a purge needs this. */
  trimThrough: (workspaceId: string, number: number) => Promise<void>
  /** The waiting submissions, in order. */
  readWaiting: (workspaceId: string) => AsyncGenerator<Submission>
  /** The receipt of a waiting submission. Look here first, and then in Postgres. */
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
    noteQuarantine: async (workspaceId) => {
      await redis.hset(keysOf(workspaceId).state, 'quarantine', 1)
    },
    noteSurvived: async (workspaceId) => {
      await redis.hdel(keysOf(workspaceId).state, 'quarantine', 'deaths')
    },
    append: createAppend(redis, prefix),
    trimThrough: async (workspaceId, number) => {
      await redis.xtrim(keysOf(workspaceId).log, 'MINID', '=', `${number + 1}-0`)
    },
    readWaiting: (workspaceId) => readWaiting(redis, prefix, workspaceId),
    findQueued: (workspaceId, id) => findQueued(redis, prefix, { workspaceId, id }),
  }
}

/** Each submission is an entry of its own, so that a purge is alone. Few submissions come here. */
const createAppend = (redis: RedisClient, prefix: string): Log['append'] => {
  const send = createSendAdmit(redis)
  return async (submissions, floor = 0) => {
    let last = floor
    for (const submission of submissions) {
      const { workspaceId } = submission
      const { askings } = await callAdmit({ prefix, send }, { workspaceId, floor: last }, [requestAgain(submission)])
      const [asking] = askings
      if (asking?.outcome !== 'admitted')
        throw new Error(`Redis did not append a submission: it answered ${asking?.outcome}.`)
      last = asking.number
    }
    return last
  }
}

/** Its idempotency key belongs to its first admission, and is not looked up again. */
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
