import { numberAtAcceptance, type Submission } from '../../contract/submission.ts'
import type { RedisClient } from '../redis/connect-redis.ts'
import { readEntry } from './log-entry.ts'
import { findQueued, readWaiting } from './waiting.ts'
import { defineWorkspaceScript } from '../redis/lua-script.ts'
import type { Receipt } from '../../contract/receipt.ts'
import { callAdmit, createSendAdmit, type ScriptRequest } from '../admission/call-admit.ts'
import { workspaceKeys } from '../keys.ts'

/** Operations on the logs of all workspaces. */
export type Log = {
  take: (requests: readonly TakeRequest[], settings: TakeSettings) => Promise<TakeResult[]>
  /** Releases the leases of this worker. */
  release: (worker: string, workspaceIds: readonly string[]) => Promise<void>
  /**
   * Renews the leases of this worker. A lease that runs out shortens the next strides, or counts as
   * a quarantine death.
   */
  renew: (worker: string, workspaceIds: readonly string[], leaseMs: number) => Promise<void>
  /** Notes that a quarantine begins. A death of the worker then counts against the submission. */
  noteQuarantine: (workspaceId: string) => Promise<void>
  /** Notes that the worker survived the quarantine. */
  noteSurvived: (workspaceId: string) => Promise<void>
  /**
   * Appends submissions of one workspace again, with new numbers above `floor`: replays, and
   * submissions that a failover lost. Returns the last new number.
   */
  append: (submissions: readonly Submission[], floor?: number) => Promise<number>
  /** Removes the entries up to an applied number, for the end of a purge. */
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

/**
 * Each submission becomes an entry of its own: the end of a purge trims whole entries up to the
 * number of the purge.
 */
const createAppend = (redis: RedisClient, prefix: string): Log['append'] => {
  const send = createSendAdmit(redis)
  return async (submissions, floor = 0) => {
    let last = floor
    for (const submission of submissions) {
      const { workspaceId } = submission
      const { answers } = await callAdmit({ prefix, send }, { workspaceId, floor: last }, [requestAgain(submission)])
      const { admission } = answers[0]!
      if (admission.outcome !== 'admitted')
        throw new Error(`Redis did not append a submission: it answered ${admission.outcome}.`)
      last = admission.number
    }
    return last
  }
}

/**
 * The request that appends a submission again. The idempotency key stays with the first admission,
 * so the script does not look it up.
 */
const requestAgain = ({ operation, workspaceId, body, ...submission }: Submission): ScriptRequest => ({
  keyState: 'unused',
  operation,
  workspaceId,
  bodyText: JSON.stringify(body),
  traceparent: submission.traceparent,
  original: {
    submissionId: submission.submissionId,
    number: numberAtAcceptance(submission),
    idempotency: submission.idempotency,
  },
})

export type TakeRequest = {
  workspaceId: string
  /** The position to note. Entries up to this position are trimmed after `redoMs`. */
  applied?: number | undefined
  /** The older position of Postgres, to which the noted position moves back. */
  rewindTo?: number | undefined
  /** How many submissions the next strides may have; Infinity for full strides. */
  bound?: number | undefined
}

/**
 * `submissions` and `bytes` bound the stride of each workspace. With `submissions: 0`, the call
 * reads no entry. It keeps the lease, or releases it with `leaseMs: 0`.
 */
export type TakeSettings = {
  worker: string
  leaseMs: number
  submissions: number
  bytes: number
  takesDeep: boolean
  redoMs: number
}

export type TakeResult =
  /** Nothing is left to apply. Unless `submissions` is 0, the same step has released the lease. */
  | { outcome: 'idle' }
  /** Another worker has the lease. */
  | { outcome: 'leased' }
  /** The log is deep, and this call takes no deep logs. Wake the workspace with `isDeep`. */
  | { outcome: 'deep' }
  /** With `submissions: 0`: a waiting identify or purge is to be applied at once. The lease stays. */
  | { outcome: 'awaited' }
  /**
   * The worker has the lease but cannot read an entry. A take of this log alone throws the cause.
   */
  | { outcome: 'unreadable' }
  | {
      outcome: 'taken'
      submissions: Submission[]
      /** The submissions were read after this number. */
      after: number
      /** How many submissions a stride may have; Infinity for a full stride. */
      bound: number
      /** How many workers died in quarantine with the first submission. */
      quarantineDeaths: number
    }

/** The most submissions of a full stride. */
export const FULL_STRIDE_SUBMISSIONS = 500
/** With more workspaces, one call would block Redis for too long. */
const WORKSPACES_AT_ONCE = 100

type Answer = 0 | 1 | 2 | 3 | [after: string, bound: string, quarantineDeaths: number, ...entries: string[]]

/** Takes the next submissions of logs, as lua/take.lua describes. */
const createTake = (redis: RedisClient, prefix: string): Log['take'] => {
  const take = defineWorkspaceScript<Answer>({ redis, prefix }, { name: 'take', atOnce: WORKSPACES_AT_ONCE })
  return async (requests, { worker, leaseMs, submissions, bytes, takesDeep, redoMs }) => {
    const settings = [worker, leaseMs, submissions, bytes, takesDeep ? 1 : 0, redoMs, FULL_STRIDE_SUBMISSIONS]
    const answers = await take(
      settings,
      requests.map(({ workspaceId, applied, rewindTo, bound }) => ({
        workspaceId,
        values: [applied ?? '', rewindTo ?? '', boundText(bound)],
      })),
    )
    return answers.map((answer, at) => {
      try {
        return readAnswer(requests[at]!.workspaceId, answer, submissions)
      } catch (error) {
        if (requests.length === 1) throw error
        return { outcome: 'unreadable' }
      }
    })
  }
}

const boundText = (bound: number | undefined): number | string => {
  if (bound === undefined) return ''
  return Number.isFinite(bound) ? bound : 'full'
}

const readAnswer = (workspaceId: string, answer: Answer, most: number): TakeResult => {
  if (answer === 0) return { outcome: 'idle' }
  if (answer === 1) return { outcome: 'leased' }
  if (answer === 2) return { outcome: 'deep' }
  if (answer === 3) return { outcome: 'awaited' }
  const [after, boundOrNone, quarantineDeaths, ...entries] = answer
  const bound = boundOrNone === '' ? Infinity : Number(boundOrNone)
  const submissions = entries
    .flatMap((value) => readEntry(workspaceId, value))
    .filter(({ number }) => number > Number(after))
    .slice(0, Math.min(most, bound))
  return { outcome: 'taken', submissions, after: Number(after), bound, quarantineDeaths }
}
