import { type Measures, type ProcessName, PROCESSES } from '../figures/measures.ts'
import type { Program } from '../installation/program.ts'
import { observe, observeService, type LoadFigures } from '../observe.ts'
import { untilStored } from '../plain/plain-variants.ts'
import { type CreateSection, feedbackTarget, plainTarget, type Rig, untilAllFinished, warmUp } from '../rig.ts'

/**
 * Rates from the first request until the last submission is applied, with all processes on the same
 * processors.
 */
export const endToEnd: CreateSection = async (rig) => {
  const plain = await rig.plain()
  const main = await rig.service('main')
  const handlers = [plain.insertApi, plain.atOnceApi, plain.queueApi]
  await plain.queue.resume()
  await warmUp(rig, [...handlers.map(({ port }) => plainTarget(plain, port)), feedbackTarget(main)])
  return {
    round: async () => {
      await plain.queue.resume()
      await untilStored(plain)
      await untilAllFinished(rig, main)
      await plain.empty()
      await measureHandler(rig, 'plain handler that inserts', { handler: plain.insertApi, idempotencyKeys: false })
      await measureHandler(rig, 'plain handler that does the same at once', {
        handler: plain.atOnceApi,
        idempotencyKeys: true,
      })
      await measurePlainPipeline(rig)
      addPipeline(rig.measures, '', await observeService(rig, main))
      const everythingOn = await observeService(rig, main, { how: { idempotencyKeys: true } })
      rig.measures.add('end to end, everything on', everythingOn.perSecond)
      rig.measures.add('processor time per submission, everything on', everythingOn.totalMicroseconds)
    },
  }
}

/** Measures a handler that needs no worker. */
const measureHandler = async (
  rig: Rig,
  name: 'plain handler that inserts' | 'plain handler that does the same at once',
  { handler, idempotencyKeys }: { handler: Program; idempotencyKeys: boolean },
): Promise<void> => {
  const plain = await rig.plain()
  const { perSecond, totalMicroseconds } = await observe(rig, {
    target: plainTarget(plain, handler.port),
    how: { idempotencyKeys },
    pids: { api: handler.pid, Postgres: rig.serverPids.Postgres },
  })
  rig.measures.add(name, perSecond)
  rig.measures.add(`${name}, processor time per submission`, totalMicroseconds)
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

const addPipeline = (
  measures: Measures,
  whose: '' | 'plain pipeline, ',
  { perSecond, totalMicroseconds, microseconds, memoryMb }: LoadFigures<ProcessName>,
): void => {
  measures.add(`${whose}end to end`, perSecond)
  measures.add(`${whose}processor time per submission`, totalMicroseconds)
  for (const name of PROCESSES) {
    measures.add(`${whose}processor time: ${name}`, microseconds[name])
  }
  measures.add(`${whose}memory of the API`, memoryMb.api)
  measures.add(`${whose}memory of the worker`, memoryMb.worker)
}
