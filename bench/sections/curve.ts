import { setTimeout as pause } from 'node:timers/promises'
import type { BodyKind } from '../bodies.ts'
import { CURVE_LOADS, type CurveLoad, type CurveProgram, type ProcessName, PROCESSES } from '../figures/measures.ts'
import { untilQuiet, usageOf } from '../figures/usage.ts'
import type { Service } from '../installation/service.ts'
import { untilStored } from '../plain/plain-variants.ts'
import {
  type CreateSection,
  feedbackTarget,
  loadOf,
  type LoadTarget,
  loadWith,
  newNumbers,
  plainTarget,
  type Rig,
  untilAllFinished,
  warmUp,
} from '../rig.ts'

/** An unmeasured load first sends feedback of this many people, so that each is a known contact. */
const PEOPLE = 1_000
/** Work that a process puts off, such as tags, begins within this time. */
const PUT_OFF_MS = 2_000
const MICROSECONDS_PER_SECOND = 1_000_000

/** `lengths`: how many usual loads long the load is. */
const LOADS: Readonly<Record<CurveLoad, { perSecond: number; lengths: number; kind: BodyKind }>> = {
  '10/s': { perSecond: 10, lengths: 8, kind: 'feedback' },
  '10/s without tags': { perSecond: 10, lengths: 8, kind: 'feedback without tags' },
  '100/s': { perSecond: 100, lengths: 4, kind: 'feedback' },
  '100/s without tags': { perSecond: 100, lengths: 4, kind: 'feedback without tags' },
  '1,000/s': { perSecond: 1_000, lengths: 4, kind: 'feedback' },
}

type CurveSubject = {
  program: CurveProgram
  target: LoadTarget
  pids: () => Readonly<Record<ProcessName, number>>
  loads: readonly CurveLoad[]
  /** Waits until all accepted submissions are stored. */
  untilStored: () => Promise<void>
}

/**
 * The processor time of a submission beyond that of idle processes, at rates from low to high, for
 * this version, the plain pipeline and another version.
 */
export const curve: CreateSection = async (rig) => {
  const subjects = [await plainSubject(rig), serviceSubject(rig, 'service', await rig.service('curve'))]
  const { otherCheckout: checkout } = rig.config
  if (checkout !== undefined) {
    subjects.push(serviceSubject(rig, 'other version', await rig.service('other', { checkout })))
  }
  await warmUp(
    rig,
    subjects.map(({ target }) => target),
  )
  for (const subject of subjects) {
    await loadWith(rig, subject.target, loadOf(newNumbers(rig, PEOPLE), { people: PEOPLE, idempotencyKeys: false }))
    await subject.untilStored()
  }
  return {
    round: async () => {
      const idle = new Map<CurveProgram, Readonly<Record<ProcessName, number>>>()
      for (const subject of subjects) idle.set(subject.program, await measureIdle(rig, subject))
      for (const load of CURVE_LOADS) {
        for (const subject of subjects.filter(({ loads }) => loads.includes(load))) {
          await measureLoad(rig, subject, { load, idle: idle.get(subject.program)! })
        }
      }
      await (await rig.plain()).empty()
    },
  }
}

const plainSubject = async (rig: Rig): Promise<CurveSubject> => {
  const plain = await rig.plain()
  await plain.queue.resume()
  return {
    program: 'plain pipeline',
    target: plainTarget(plain, plain.queueApi.port),
    pids: () => ({ api: plain.queueApi.pid, worker: plain.insertWorker.pid, ...rig.serverPids }),
    // The plain pipeline does nothing with tags.
    loads: CURVE_LOADS.filter((load) => LOADS[load].kind === 'feedback'),
    untilStored: () => untilStored(plain),
  }
}

const serviceSubject = (rig: Rig, program: CurveProgram, service: Service): CurveSubject => ({
  program,
  target: feedbackTarget(service),
  pids: () => ({ ...service.pids(), ...rig.serverPids }),
  loads: CURVE_LOADS,
  untilStored: () => untilAllFinished(rig, service),
})

const IDLE_LENGTHS = 6

/**
 * Returns the seconds of processor time per second of each process. All programs share the servers,
 * so the servers' part includes the idle time of the other programs.
 */
const measureIdle = async (
  rig: Rig,
  { program, pids }: CurveSubject,
): Promise<Readonly<Record<ProcessName, number>>> => {
  await untilQuiet(pids())
  const seconds = await watch(pids(), () => pause(IDLE_LENGTHS * rig.config.seconds * 1_000))
  const all = PROCESSES.reduce((sum, name) => sum + seconds.used[name] / seconds.took, 0)
  rig.measures.add(`${program}, idle: processor time a second`, all * 1_000)
  return Object.fromEntries(PROCESSES.map((name) => [name, seconds.used[name] / seconds.took])) as Record<
    ProcessName,
    number
  >
}

const measureLoad = async (
  rig: Rig,
  { program, target, pids, untilStored: untilAllStored }: CurveSubject,
  { load, idle }: { load: CurveLoad; idle: Readonly<Record<ProcessName, number>> },
): Promise<void> => {
  const { perSecond, lengths, kind } = LOADS[load]
  await untilQuiet(pids())
  let result = { accepted: 0, p50Ms: 0, p99Ms: 0 }
  const { used, took } = await watch(pids(), async () => {
    result = await loadWith(rig, target, { perSecond, kind, people: PEOPLE, seconds: lengths * rig.config.seconds })
    await untilAllStored()
    await pause(PUT_OFF_MS)
    await untilQuiet(pids())
  })
  const { measures } = rig
  const beyondIdle = (name: ProcessName): number =>
    ((used[name] - idle[name] * took) * MICROSECONDS_PER_SECOND) / result.accepted
  measures.add(
    `${program} at ${load}: processor time`,
    PROCESSES.reduce((sum, name) => sum + beyondIdle(name), 0),
  )
  for (const name of PROCESSES) measures.add(`${program} at ${load}: ${name}`, beyondIdle(name))
  measures.add(`${program} at ${load}: p50`, result.p50Ms)
  measures.add(`${program} at ${load}: p99`, result.p99Ms)
}

type Watched = { used: Record<ProcessName, number>; took: number }

/** The seconds of processor time of each process during the work, and the seconds of the work. */
const watch = async (pids: Readonly<Record<ProcessName, number>>, work: () => Promise<unknown>): Promise<Watched> => {
  const before = usageOf(pids)
  const startedAt = performance.now()
  await work()
  const took = (performance.now() - startedAt) / 1_000
  const after = usageOf(pids)
  const used = Object.fromEntries(PROCESSES.map((name) => [name, after[name].cpuSeconds - before[name].cpuSeconds]))
  return { used: used as Record<ProcessName, number>, took }
}
