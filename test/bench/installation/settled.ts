import { setTimeout as pause } from 'node:timers/promises'
import type { Service } from './service.ts'

const LOOK_EVERY_MS = 20
/** Submissions that make no progress for so long are stuck. */
const STANDSTILL_MS = 60_000

type Stored = Pick<Service, 'sql'>

/** How many submissions of all workspaces are settled, as the ledger has them: the rows themselves are too many to count often. */
export const countSettled = async ({ sql }: Stored): Promise<number> => {
  const [row] = await sql<{ settled: string }[]>`
    select coalesce(sum(submissions), 0) as settled from ledger where state <> 'queued'`
  return Number(row!.settled)
}

/** Waits until so many submissions are settled. */
export const untilSettled = async (service: Stored, count: number): Promise<void> => {
  let former = -1
  let progressAt = performance.now()
  for (;;) {
    const settled = await countSettled(service)
    if (settled >= count) return
    if (settled > former) progressAt = performance.now()
    else if (performance.now() - progressAt > STANDSTILL_MS) throw new Error(`${count - settled} submissions are stuck`)
    former = settled
    await pause(LOOK_EVERY_MS)
  }
}
