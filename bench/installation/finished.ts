import { setTimeout as pause } from 'node:timers/promises'
import type { Service } from './service.ts'

const LOOK_EVERY_MS = 20
/** Without progress for this long, submissions are stuck. */
const STANDSTILL_MS = 60_000

/** The number of finished submissions in all workspaces. To count all receipts would take long. */
export const countFinished = async ({ sql }: Service): Promise<number> => {
  const [row] = await sql<{ finished: string }[]>`
    select coalesce(sum(applied + superseded + purged + dead), 0) as finished from workspace_progress`
  return Number(row!.finished)
}

/** Waits until this many submissions are finished. Throws when none finishes for a minute. */
export const untilFinished = async (service: Service, count: number): Promise<void> => {
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

/** Waits until the state of a submission is final, and returns this state. */
export const finalState = async (
  { sql, workspaceId }: Service,
  id: string,
  lookEveryMs = LOOK_EVERY_MS,
): Promise<string> => {
  for (;;) {
    const [row] = await sql<{ state: string }[]>`
      select state from submission where workspace_id = ${workspaceId} and id = ${id} and state <> 'queued'`
    if (row !== undefined) return row.state
    await pause(lookEveryMs)
  }
}
