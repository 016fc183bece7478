import type { RedisClient } from './redis.ts'
import { admissionKeys } from './admission-keys.ts'

/** A workspace's undecided purges, and what is outstanding, by number, ascending; of more than are read only the lowest. */
export type Barrier = { purges: readonly number[]; outstanding: readonly Outstanding[] }
type Outstanding = { number: number; submissionId: string }
export type ReadBarrier = (workspaceId: string) => Promise<Barrier>

/** More than workers hold at once. */
const OUTSTANDING_READ = 5_000

/** What is outstanding is read only if there is a purge. Read after the purges, so that nothing is taken for settled which is not. */
export const barrierIn =
  (redis: RedisClient, prefix: string): ReadBarrier =>
  async (workspaceId) => {
    const name = admissionKeys(prefix, workspaceId)
    const lowest = async (key: string): Promise<Outstanding[]> =>
      inPairs(await redis.zrange(key, '0', String(OUTSTANDING_READ - 1), 'WITHSCORES'))
    const purges = (await lowest(name.purges)).map(({ number }) => number)
    return { purges, outstanding: purges.length === 0 ? [] : await lowest(name.outstanding) }
  }

const inPairs = (membersAndScores: readonly string[]): Outstanding[] => {
  const pairs: Outstanding[] = []
  for (let index = 0; index < membersAndScores.length; index += 2) {
    pairs.push({ submissionId: membersAndScores[index]!, number: Number(membersAndScores[index + 1]) })
  }
  return pairs
}

/** `ready`: numbers, ascending; `missing`: submissions that are waited for and that somebody else has, lowest first. */
export type Readiness = { ready: number[]; missing: string[] }

/**
 * Which of the numbers that somebody has in hand may be stored by one statement now: a purge is decided when all that was
 * accepted before it is stored, and what was accepted after it is stored when it is decided.
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
      .map(({ submissionId }) => submissionId),
  }
}
