import type { ProcessName } from './figures/measures.ts'
import type { Service } from './installation/service.ts'
import { feedbackTarget, type LoadHow, type LoadTarget, loadWith, type Rig, untilAllFinished } from './rig.ts'
import { peakMemory, untilQuiet, usageOf } from './figures/usage.ts'

const BYTES_PER_MB = 1_000_000
const MICROSECONDS_PER_SECOND = 1_000_000

/**
 * A load of this many times the usual length shows the sustainable rate. On Bun, a process compiles
 * its code again after a pause, since JavaScriptCore drops code that has not run for some time.
 * Source: https://github.com/WebKit/WebKit/blob/main/Source/JavaScriptCore/bytecode/CodeBlock.cpp
 * (timeToLive)
 */
const SUSTAINED_LOADS = 4

export type LoadFigures<Name extends string> = {
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
 * Loads a target long enough to see its sustainable rate, and waits until all submissions are
 * applied. Returns the rate, and the processor time per submission and the peak memory of each
 * process.
 */
export const observe = async <Name extends string>(
  rig: Rig,
  { target, how = {}, until, pids }: Observed<Name>,
): Promise<LoadFigures<Name>> => {
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

/** Observes a service under a load of feedback, or of another target. */
export const observeService = (
  rig: Rig,
  service: Service,
  { target = feedbackTarget(service), how = {} }: { target?: LoadTarget; how?: LoadHow } = {},
): Promise<LoadFigures<ProcessName>> =>
  observe(rig, {
    target,
    how,
    until: () => untilAllFinished(rig, service),
    pids: { ...service.pids(), ...rig.serverPids },
  })
