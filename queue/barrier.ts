import type { RedisClient } from './connect-redis.ts'
import { batchIdOf } from './batch.ts'
import { admissionKeys, type Numbered, readByNumber } from './keys.ts'

/** A workspace's undecided purges, and its outstanding batches, by number, ascending; only the lowest `OUTSTANDING_READ` of each. */
export type Barrier = { purges: readonly number[]; outstanding: readonly Numbered[] }
export type ReadBarrier = (workspaceId: string) => Promise<Barrier>

/** More than the workers hold at once. */
const OUTSTANDING_READ = 5_000
/** Of batches that other statements store, which are few unless a workspace is heavy. */
const OTHERS_READ = 500

/** Outstanding submissions are read only if there is a purge, and after the purges, so that no outstanding one is taken for settled. */
export const barrierIn =
  (redis: RedisClient, prefix: string): ReadBarrier =>
  async (workspaceId) => {
    const name = admissionKeys(prefix, workspaceId)
    const lowest = async (key: string): Promise<Numbered[]> =>
      readByNumber(await redis.zrange(key, '0', String(OUTSTANDING_READ - 1), 'WITHSCORES'))
    const purges = (await lowest(name.purges)).map(({ number }) => number)
    return { purges, outstanding: purges.length === 0 ? [] : await lowest(name.outstanding) }
  }

/** `ready`: numbers, ascending. `missing`: batches that others have and that must be stored first, lowest first. */
type Readiness = { ready: number[]; missing: string[] }

/**
 * Which of the numbers that a worker has in hand one statement may store now. A purge is decided when everything is stored that was
 * accepted before it, and what was accepted after it is stored when it is decided.
 */
export const readyNow = (
  inHand: readonly { number: number; isPurge: boolean }[],
  { purges, outstanding }: Barrier,
): Readiness => {
  const numbers = new Set(inHand.map(({ number }) => number))
  const gap =
    outstanding.find(({ number }) => !numbers.has(number))?.number ??
    (outstanding.length < OUTSTANDING_READ ? Infinity : outstanding.at(-1)!.number)
  const firstUndecidable =
    purges.find((number) => number >= gap || !numbers.has(number)) ??
    (purges.length < OUTSTANDING_READ ? Infinity : purges.at(-1)! + 1)
  return {
    ready: inHand
      .filter(({ number, isPurge }) => number < firstUndecidable && (!isPurge || number < gap))
      .map(({ number }) => number)
      .toSorted((a, b) => a - b),
    missing: outstanding
      .filter(({ number }) => number <= firstUndecidable && !numbers.has(number))
      .map(({ batchId }) => batchId),
  }
}

/**
 * The numbers of the batches of a workspace that are outstanding up to the highest of some submissions, besides the batches of these and
 * those that are stored already; undefined when they are too many to be listed.
 */
export const outstandingBesides =
  (redis: RedisClient, prefix: string, isStored: (batchId: string) => boolean) =>
  async (
    workspaceId: string,
    submissions: readonly { submissionId: string; number: number }[],
  ): Promise<number[] | undefined> => {
    // A batch that was split is named after its submission.
    const batchIds = new Set(submissions.flatMap(({ submissionId }) => [submissionId, batchIdOf(submissionId)]))
    const highest = Math.max(...submissions.map(({ number }) => number))
    const most = submissions.length + OTHERS_READ
    const { outstanding } = admissionKeys(prefix, workspaceId)
    const found = readByNumber(await redis.zrangebyscore(outstanding, '-inf', highest, 'WITHSCORES', 'LIMIT', 0, most))
    if (found.length === most) return undefined
    return found.filter(({ batchId }) => !batchIds.has(batchId) && !isStored(batchId)).map(({ number }) => number)
  }

/** Everything that was accepted up to this number is settled or dead; undefined when nothing is known. */
export const settledThrough = async (
  redis: RedisClient,
  prefix: string,
  workspaceId: string,
): Promise<number | undefined> => {
  const name = admissionKeys(prefix, workspaceId)
  const given = await redis.get(name.number)
  const [lowest] = readByNumber(await redis.zrange(name.outstanding, '0', '0', 'WITHSCORES'))
  if (lowest) return lowest.number - 1
  return given === null ? undefined : Number(given)
}
