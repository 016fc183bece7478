import { halt, resume } from '../installation/drain.ts'
import { type CreateSection, feedbackTarget, loadWith, plainTarget, warmUp } from '../rig.ts'

/** How fast requests are accepted while nothing is drained, and how long one takes at half of that rate. */
export const ingress: CreateSection = async (rig) => {
  const { measures } = rig
  const plain = await rig.plain()
  const main = await rig.installation('main')
  const ours = feedbackTarget(main)
  const plainly = plainTarget(plain, plain.queueApi.port)
  const idempotencyKeys = true
  await plain.queue.pause()
  await warmUp(rig, [ours, plainly])
  await Promise.all([main.empty(), plain.empty()])

  const highestRate = async (): Promise<number> => {
    await plain.queue.pause()
    const added = await loadWith(rig, plainly)
    measures.add('plain handler with queue.add, accepted', added.accepted / added.seconds)
    const accepted = await loadWith(rig, ours, { idempotencyKeys })
    measures.add('accepted, everything on', accepted.accepted / accepted.seconds)
    const keyless = await loadWith(rig, ours)
    measures.add('accepted, without Idempotency-Key', keyless.accepted / keyless.seconds)
    return accepted.accepted / accepted.seconds
  }
  return {
    round: async () => {
      const perSecond = (await highestRate()) / 2
      const steady = await loadWith(rig, ours, { perSecond, idempotencyKeys })
      measures.add('p99 at half of the highest rate', steady.p99Ms)
      const plainSteady = await loadWith(rig, plainly, { perSecond })
      measures.add('plain handler with queue.add, p99 at the same rate', plainSteady.p99Ms)
      await Promise.all([main.empty(), plain.empty()])
      await resume(main.drained('submissions').queues)
      const busy = await loadWith(rig, ours, { perSecond, idempotencyKeys })
      measures.add('p99 at half of the highest rate, workers at work', busy.p99Ms)
      await halt(main.drained('submissions').queues)
      await main.empty()
    },
  }
}
