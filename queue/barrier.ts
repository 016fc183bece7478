import type { RedisClient } from './connect-redis.ts'
import { admissionKeys, type Numbered, readByNumber } from './keys.ts'

/** A workspace's undecided purges, and its outstanding batches, by number, ascending; only the lowest `OUTSTANDING_READ` of each. */
export type Barrier = { purges: readonly number[]; outstanding: readonly Numbered[] }
export type ReadBarrier = (workspaceId: string) => Promise<Barrier>

/** More than the workers hold at once. */
const OUTSTANDING_READ = 5_000

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
