import type { Submission } from '../../contract/submission.ts'
import type { RedisClient } from '../redis/connect-redis.ts'
import { readEntry } from './log-entry.ts'
import { defineWorkspaceScript } from '../redis/lua-script.ts'

export type TakeRequest = {
  workspaceId: string
  /** The position to note. Entries up to it are trimmed after `redoMs`. */
  applied?: number | undefined
  /** Moves the noted position back to this one, since Postgres has an older position. */
  rewindTo?: number | undefined
  /** The bound of strides to note; Infinity for a full stride. */
  stride?: number | undefined
}

/** `submissions` and `bytes` are for each workspace. Without submissions, no lease is taken. */
export type TakeSettings = {
  worker: string
  leaseMs: number
  submissions: number
  bytes: number
  takesDeep: boolean
  redoMs: number
}

export type Taken =
  /** Nothing is left to apply. The same step has released the lease. */
  | { outcome: 'idle' }
  /** Another worker has the lease. */
  | { outcome: 'leased' }
  /**
   * Much waits, or strides are short, and this worker takes no deep logs. Wake the workspace as a
   * deep one.
   */
  | { outcome: 'deep' }
  | {
      outcome: 'taken'
      submissions: Submission[]
      /** The number behind which the submissions were read. */
      after: number
      /** How many submissions a stride may have; Infinity for a full one. */
      stride: number
      /** How many workers died of the first submission in quarantine. */
      quarantineDeaths: number
    }

/** The first death of a worker halves this bound. */
export const FULL_STRIDE_SUBMISSIONS = 500
/** A call blocks Redis for milliseconds. */
const WORKSPACES_AT_ONCE = 100

type Answer = 0 | 1 | 2 | [after: string, stride: string, quarantineDeaths: number | string, ...entries: string[]]

/** Takes the next submissions of logs, as lua/take.lua describes. */
export const createTake = (
  redis: RedisClient,
  prefix: string,
): ((requests: readonly TakeRequest[], settings: TakeSettings) => Promise<Taken[]>) => {
  const take = defineWorkspaceScript<Answer>({ redis, prefix }, { name: 'take', atOnce: WORKSPACES_AT_ONCE })
  return async (requests, { worker, leaseMs, submissions, bytes, takesDeep, redoMs }) => {
    const settings = [worker, leaseMs, submissions, bytes, takesDeep ? 1 : 0, redoMs, FULL_STRIDE_SUBMISSIONS]
    const answers = await take(
      settings,
      requests.map(({ workspaceId, applied, rewindTo, stride }) => ({
        workspaceId,
        values: [applied ?? '', rewindTo ?? '', strideText(stride)],
      })),
    )
    return answers.map((answer, at) => readAnswer(requests[at]!.workspaceId, answer, submissions))
  }
}

const strideText = (stride: number | undefined): number | string => {
  if (stride === undefined) return ''
  return Number.isFinite(stride) ? stride : 'full'
}

const readAnswer = (workspaceId: string, answer: Answer, most: number): Taken => {
  if (answer === 0) return { outcome: 'idle' }
  if (answer === 1) return { outcome: 'leased' }
  if (answer === 2) return { outcome: 'deep' }
  const [after, strideOrNone, quarantineDeaths, ...entries] = answer
  const stride = strideOrNone === '' ? Infinity : Number(strideOrNone)
  const submissions = entries
    .flatMap((value) => readEntry(workspaceId, value))
    .filter(({ number }) => number > Number(after))
    .slice(0, Math.min(most, stride))
  return {
    outcome: 'taken',
    submissions,
    after: Number(after),
    stride,
    quarantineDeaths: Number(quarantineDeaths),
  }
}
