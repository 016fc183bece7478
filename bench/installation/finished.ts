import { setTimeout as pause } from 'node:timers/promises'
import type { Service } from './service.ts'

const LOOK_EVERY_MS = 20
/** Without progress for this long, submissions are stuck. */
const STANDSTILL_MS = 60_000

type Stored = Pick<Service, 'sql'>

/**
 * The number of finished submissions in all workspaces. There are too many receipts to count them
 * often.
 */
export const countFinished = async ({ sql }: Stored): Promise<number> => {
  const [row] = await sql<{ finished: string }[]>`
    select coalesce(sum(applied + superseded + purged + dead), 0) as finished from workspace_progress`
  return Number(row!.finished)
}

/** Waits until this many submissions are finished. */
export const untilFinished = async (service: Stored, count: number): Promise<void> => {
  let former = -1
  let progressAt = performance.now()
  for (;;) {
    const finished = await countFinished(service)
    if (finished >= count) return
    if (finished > former) progressAt = performance.now()
    else if (performance.now() - progressAt > STANDSTILL_MS) {
      throw new Error(`${count - finished} submissions are stuck`)
    }
    former = finished
    await pause(LOOK_EVERY_MS)
  }
}
