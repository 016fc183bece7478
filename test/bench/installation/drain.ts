import { setTimeout as pause } from 'node:timers/promises'
import type { Queue } from 'bullmq'

const LOOK_EVERY_MS = 10
/** Jobs that make no progress for so long are stuck. */
const STANDSTILL_MS = 60_000
const MS_PER_SECOND = 1_000

/** Queues whose jobs carry several things at a time, and how many of these are not finished. */
export type Drained = { queues: readonly Queue[]; unfinished: () => Promise<number> }

/** A queue whose jobs carry one thing each. */
export const ofJobs = (queue: Queue): Drained => ({
  queues: [queue],
  unfinished: () => queue.getJobCountByTypes('waiting', 'active', 'delayed', 'failed'),
})

/**
 * Lets the workers of paused queues have `jobs` of their things, or as many as they finish in `mostSeconds`, and returns how many
 * that were and how many a second. They are paused again afterwards, and nothing is at work.
 */
export const drainFor = async (
  { queues, unfinished }: Drained,
  { jobs, mostSeconds }: { jobs: number; mostSeconds: number },
): Promise<{ finished: number; perSecond: number }> => {
  const before = await unfinished()
  const startedAt = performance.now()
  await resume(queues)
  const left = await untilAtMost({ queues, unfinished }, before - jobs, mostSeconds)
  const perSecond = (before - left) / ((performance.now() - startedAt) / MS_PER_SECOND)
  await halt(queues)
  return { finished: before - (await unfinished()), perSecond }
}

export const resume = async (queues: readonly Queue[]): Promise<void> => {
  for (const queue of queues) await queue.resume()
}

/** Pauses queues and waits until nothing of them is at work. */
export const halt = async (queues: readonly Queue[]): Promise<void> => {
  for (const queue of queues) await queue.pause()
  for (const queue of queues) while ((await queue.getActiveCount()) > 0) await pause(LOOK_EVERY_MS)
}

/** Waits until queues have nothing left to do. */
export const untilDrained = async (drained: Drained): Promise<void> => void (await untilAtMost(drained, 0))

const untilAtMost = async ({ queues, unfinished }: Drained, most: number, mostSeconds = Infinity): Promise<number> => {
  const endsAt = performance.now() + mostSeconds * MS_PER_SECOND
  let former = Infinity
  let progressAt = performance.now()
  for (;;) {
    const left = await unfinished()
    if (left <= most || performance.now() >= endsAt) return left
    if (left < former) progressAt = performance.now()
    else if (performance.now() - progressAt > STANDSTILL_MS)
      throw new Error(`${queues[0]!.name}: ${left} jobs are stuck`)
    former = left
    await pause(LOOK_EVERY_MS)
  }
}
