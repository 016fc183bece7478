import { untilStored } from '../plain/plain-variants.ts'
import { type CreateSection, feedbackTarget, loadWith, plainTarget, untilAllFinished, warmUp } from '../rig.ts'

/**
 * The rate of accepted requests while no worker runs, and the latency at half of that rate, without
 * workers and with them.
 */
export const ingress: CreateSection = async (rig) => {
  const { measures } = rig
  const plain = await rig.plain()
  const main = await rig.service('main')
  const ours = feedbackTarget(main)
  const queueAdd = plainTarget(plain, plain.queueApi.port)
  const idempotencyKeys = true
  // The plain worker runs meanwhile, so that it is warm for `end-to-end`.
  await plain.queue.resume()
  await warmUp(rig, [ours, queueAdd])
  await untilStored(plain)
  await plain.empty()

  const highestRate = async (): Promise<number> => {
    const added = await loadWith(rig, queueAdd)
    measures.add('plain handler with queue.add, accepted', added.accepted / added.seconds)
    const withKeys = await loadWith(rig, ours, { idempotencyKeys })
    const perSecond = withKeys.accepted / withKeys.seconds
    measures.add('accepted, everything on', perSecond)
    const keyless = await loadWith(rig, ours)
    measures.add('accepted, without Idempotency-Key', keyless.accepted / keyless.seconds)
    return perSecond
  }
  return {
    round: async () => {
      await main.stopWorker()
      await plain.queue.pause()
      const perSecond = (await highestRate()) / 2
      const steady = await loadWith(rig, ours, { perSecond, idempotencyKeys })
      measures.add('p99 at half of the highest rate', steady.p99Ms)
      const plainSteady = await loadWith(rig, queueAdd, { perSecond })
      measures.add('plain handler with queue.add, p99 at the same rate', plainSteady.p99Ms)
      await plain.empty()
      await main.startWorker()
      // The queued submissions warm up the new worker.
      await untilAllFinished(rig, main)
      const busy = await loadWith(rig, ours, { perSecond, idempotencyKeys })
      measures.add('p99 at half of the highest rate, workers at work', busy.p99Ms)
      await untilAllFinished(rig, main)
    },
  }
}
