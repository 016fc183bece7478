import type { Queue } from 'bullmq'
import { untilDrained } from '../installation/drain.ts'
import { type CreateSection, feedbackTarget, type LoadTarget, loadWith, plainTarget, type Rig } from '../rig.ts'
import type { Measures } from '../figures/measures.ts'
import { peakMemory, usageOf } from '../figures/usage.ts'

const BYTES_PER_MB = 1_000_000
const MICROSECONDS_PER_SECOND = 1_000_000

/** From the first request until the last submission is stored, with everything on the same processors. */
export const endToEnd: CreateSection = async (rig) => {
  const { plain } = rig
  const main = await rig.installation('main')
  const inserting = plainTarget(plain, plain.insertApi.port)
  await loadWith(rig, inserting)
  return {
    round: async () => {
      await plain.empty()
      await measureInserting(rig, inserting)
      await measurePlainPipeline(rig)
      await main.empty()
      await main.queues.feedback.resume()
      await measureOurs(rig)
      await main.queues.feedback.pause()
      await main.empty()
    },
  }
}

const measureInserting = async (rig: Rig, target: LoadTarget): Promise<void> => {
  const { plain, measures, serverPids } = rig
  const outcome = await observe(rig, { target, pids: { api: plain.insertApi.pid, Postgres: serverPids.Postgres } })
  measures.add('plain handler that inserts', outcome.perSecond)
  measures.add('plain handler that inserts, processor time per submission', outcome.totalMicroseconds)
  await plain.empty()
}

const measurePlainPipeline = async (rig: Rig): Promise<void> => {
  const { plain, measures, serverPids } = rig
  await plain.queue.resume()
  const outcome = await observe(rig, {
    target: plainTarget(plain, plain.queueApi.port),
    queue: plain.queue,
    pids: { api: plain.queueApi.pid, worker: plain.insertWorker.pid, ...serverPids },
  })
  addPipeline(measures, 'plain pipeline, ', outcome)
  await plain.empty()
}

const measureOurs = async (rig: Rig): Promise<void> => {
  const { measures, serverPids } = rig
  const main = await rig.installation('main')
  const outcome = await observe(rig, {
    target: feedbackTarget(main),
    queue: main.queues.feedback,
    pids: { api: main.api.pid, worker: main.worker.pid, ...serverPids },
  })
  addPipeline(measures, '', outcome)
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

type Outcome<Name extends string> = {
  perSecond: number
  totalMicroseconds: number
  microseconds: Record<Name, number>
  memoryMb: Record<Name, number>
}

/** Loads a target, waits until its queue is drained, and tells what the processes used for each submission. */
const observe = async <Name extends string>(
  rig: Rig,
  { target, queue, pids }: { target: LoadTarget; queue?: Queue; pids: Readonly<Record<Name, number>> },
): Promise<Outcome<Name>> => {
  const names = Object.keys(pids) as Name[]
  const before = usageOf(pids)
  const startedAt = performance.now()
  let accepted = 0
  const peaks = await peakMemory(pids, async () => {
    accepted = (await loadWith(rig, target)).accepted
    if (queue) await untilDrained(queue)
  })
  const seconds = (performance.now() - startedAt) / 1_000
  const after = usageOf(pids)
  const byName = (figureOf: (name: Name) => number) =>
    Object.fromEntries(names.map((name) => [name, figureOf(name)])) as Record<Name, number>
  const microseconds = byName(
    (name) => ((after[name].cpuSeconds - before[name].cpuSeconds) * MICROSECONDS_PER_SECOND) / accepted,
  )
  return {
    perSecond: accepted / seconds,
    totalMicroseconds: names.reduce((sum, name) => sum + microseconds[name], 0),
    microseconds,
    memoryMb: byName((name) => peaks[name] / BYTES_PER_MB),
  }
}
