import { type LoadHow, type LoadTarget, loadWith, type Rig, SUSTAINED_LOADS } from './rig.ts'
import { peakMemory, untilQuiet, usageOf } from './figures/usage.ts'

const BYTES_PER_MB = 1_000_000
const MICROSECONDS_PER_SECOND = 1_000_000

export type Outcome<Name extends string> = {
  perSecond: number
  totalMicroseconds: number
  microseconds: Record<Name, number>
  memoryMb: Record<Name, number>
}

type Observed<Name extends string> = {
  readonly target: LoadTarget
  readonly how?: LoadHow
  /** Waits until all accepted submissions are applied, if the target applies them later. */
  readonly until?: () => Promise<void>
  readonly pids: Readonly<Record<Name, number>>
}

/**
 * Loads a target long enough to see its sustainable rate, waits until all submissions are applied,
 * and returns the processor time of each process per submission.
 */
export const observe = async <Name extends string>(
  rig: Rig,
  { target, how = {}, until, pids }: Observed<Name>,
): Promise<Outcome<Name>> => {
  const names = Object.keys(pids) as Name[]
  await untilQuiet(pids)
  const before = usageOf(pids)
  const seconds = SUSTAINED_LOADS * rig.config.seconds
  const startedAt = performance.now()
  let accepted = 0
  const peaks = await peakMemory(pids, async () => {
    accepted = (await loadWith(rig, target, { seconds, ...how })).accepted
    await until?.()
  })
  const took = (performance.now() - startedAt) / 1_000
  const after = usageOf(pids)
  const byName = (figureOf: (name: Name) => number) =>
    Object.fromEntries(names.map((name) => [name, figureOf(name)])) as Record<Name, number>
  const microseconds = byName(
    (name) => ((after[name].cpuSeconds - before[name].cpuSeconds) * MICROSECONDS_PER_SECOND) / accepted,
  )
  return {
    perSecond: accepted / took,
    totalMicroseconds: names.reduce((sum, name) => sum + microseconds[name], 0),
    microseconds,
    memoryMb: byName((name) => peaks[name] / BYTES_PER_MB),
  }
}
