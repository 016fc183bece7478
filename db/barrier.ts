import type { Redis } from 'ioredis'
import { admissionKeys } from './admission-keys.ts'

/** Numbers of a workspace's undecided purges, and of what is outstanding, ascending; of more than are read only the lowest. */
export type Barrier = { purges: readonly number[]; outstanding: readonly number[] }
export type ReadBarrier = (workspaceId: string) => Promise<Barrier>

/** More than workers hold at once. */
const OUTSTANDING_READ = 5_000

/** What is outstanding is read only if there is a purge. Read after the purges, so that nothing is taken for settled which is not. */
export const barrierIn =
  (redis: Redis, prefix: string): ReadBarrier =>
  async (workspaceId) => {
    const name = admissionKeys(prefix, workspaceId)
    const purges = scores(await redis.zrange(name.purges, '0', String(OUTSTANDING_READ - 1), 'WITHSCORES'))
    if (purges.length === 0) return { purges, outstanding: [] }
    return {
      purges,
      outstanding: scores(await redis.zrange(name.outstanding, '0', String(OUTSTANDING_READ - 1), 'WITHSCORES')),
    }
  }

const scores = (membersAndScores: readonly string[]): number[] =>
  membersAndScores.filter((_, index) => index % 2 === 1).map(Number)

/**
 * Which of the numbers that somebody has in hand may be stored by one statement now: a purge is decided when all that was
 * accepted before it is stored, and what was accepted after it is stored when it is decided. Ascending.
 */
export const readyNow = (
  inHand: readonly { number: number; isPurge: boolean }[],
  { purges, outstanding }: Barrier,
): number[] => {
  const numbers = new Set(inHand.map(({ number }) => number))
  const gap =
    outstanding.find((number) => !numbers.has(number)) ??
    (outstanding.length < OUTSTANDING_READ ? Infinity : outstanding.at(-1)!)
  const firstUndecidable =
    purges.find((number) => number >= gap || !numbers.has(number)) ??
    (purges.length < OUTSTANDING_READ ? Infinity : purges.at(-1)! + 1)
  return inHand
    .filter(({ number, isPurge }) => number < firstUndecidable && (!isPurge || number < gap))
    .map(({ number }) => number)
    .toSorted((a, b) => a - b)
}
