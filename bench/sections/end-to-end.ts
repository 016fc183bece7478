import type { Measures } from '../figures/measures.ts'
import { observe, type Outcome } from '../observe.ts'
import { untilStored } from '../plain/plain-variants.ts'
import {
  type CreateSection,
  feedbackTarget,
  type LoadTarget,
  plainTarget,
  type Rig,
  untilAllFinished,
  warmUp,
} from '../rig.ts'

/**
 * The time from the first request until the last submission is applied, with all processes on the
 * same processors.
 */
export const endToEnd: CreateSection = async (rig) => {
  const plain = await rig.plain()
  const main = await rig.service('main')
  const inserting = plainTarget(plain, plain.insertApi.port)
  const atOnce = plainTarget(plain, plain.atOnceApi.port)
  await plain.queue.resume()
  await warmUp(rig, [inserting, atOnce, plainTarget(plain, plain.queueApi.port), feedbackTarget(main)])
  return {
    round: async () => {
      await plain.queue.resume()
      await untilStored(plain)
      await untilAllFinished(rig, main)
      await plain.empty()
      await measureInserting(rig, inserting)
      await measureAtOnce(rig, atOnce)
      await measurePlainPipeline(rig)
      addPipeline(rig.measures, '', await observeOurs(rig, false))
      await measureEverythingOn(rig)
    },
  }
}

const measureInserting = async (rig: Rig, target: LoadTarget): Promise<void> => {
  const { measures, serverPids } = rig
  const plain = await rig.plain()
  const outcome = await observe(rig, { target, pids: { api: plain.insertApi.pid, Postgres: serverPids.Postgres } })
  measures.add('plain handler that inserts', outcome.perSecond)
  measures.add('plain handler that inserts, processor time per submission', outcome.totalMicroseconds)
  await plain.empty()
}

const measureAtOnce = async (rig: Rig, target: LoadTarget): Promise<void> => {
  const { measures, serverPids } = rig
  const plain = await rig.plain()
  const { perSecond, totalMicroseconds } = await observe(rig, {
    target,
    how: { idempotencyKeys: true },
    pids: { api: plain.atOnceApi.pid, Postgres: serverPids.Postgres },
  })
  measures.add('plain handler that does the same at once', perSecond)
  measures.add('plain handler that does the same at once, processor time per submission', totalMicroseconds)
  await plain.empty()
}

const measurePlainPipeline = async (rig: Rig): Promise<void> => {
  const { measures, serverPids } = rig
  const plain = await rig.plain()
  const outcome = await observe(rig, {
    target: plainTarget(plain, plain.queueApi.port),
    until: () => untilStored(plain),
    pids: { api: plain.queueApi.pid, worker: plain.insertWorker.pid, ...serverPids },
  })
  addPipeline(measures, 'plain pipeline, ', outcome)
  await plain.empty()
}

const observeOurs = async (rig: Rig, idempotencyKeys: boolean) => {
  const main = await rig.service('main')
  return observe(rig, {
    target: feedbackTarget(main),
    how: { idempotencyKeys },
    until: () => untilAllFinished(rig, main),
    pids: { ...main.pids(), ...rig.serverPids },
  })
}

/** The same work as the handler that does it directly. */
const measureEverythingOn = async (rig: Rig): Promise<void> => {
  const { measures } = rig
  const { perSecond, totalMicroseconds } = await observeOurs(rig, true)
  measures.add('end to end, everything on', perSecond)
  measures.add('processor time per submission, everything on', totalMicroseconds)
}

const addPipeline = (
  measures: Measures,
  whose: '' | 'plain pipeline, ',
  { perSecond, totalMicroseconds, microseconds, memoryMb }: Outcome<'api' | 'worker' | 'Redis' | 'Postgres'>,
): void => {
  measures.add(`${whose}end to end`, perSecond)
  measures.add(`${whose}processor time per submission`, totalMicroseconds)
  for (const name of ['api', 'worker', 'Redis', 'Postgres'] as const) {
    measures.add(`${whose}processor time: ${name}`, microseconds[name])
  }
  measures.add(`${whose}memory of the API`, memoryMb.api)
  measures.add(`${whose}memory of the worker`, memoryMb.worker)
}
