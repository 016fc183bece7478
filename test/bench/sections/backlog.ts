import { drainFor } from '../installation/drain.ts'
import { fillQueue } from '../installation/fill-queue.ts'
import { type CreateSection, feedbackFilling, feedbackTarget, loadWith, drainBounds } from '../rig.ts'

/** Accepting and draining while much is waiting; each round drains the oldest and adds about as much again or more. */
export const backlog: CreateSection = async (rig) => {
  const { config, measures } = rig
  const behind = await rig.installation('backlog')
  await fillQueue(behind, 'create_feedback', feedbackFilling(rig, config.backlog))
  const target = feedbackTarget(behind)
  await loadWith(rig, target, { idempotencyKeys: true })
  return {
    round: async () => {
      const { accepted, seconds } = await loadWith(rig, target, { idempotencyKeys: true })
      measures.add('accepted with a backlog', accepted / seconds)
      const drained = await drainFor(behind.drained('submissions'), drainBounds(config))
      measures.add('feedback drained with a backlog', drained.perSecond)
    },
  }
}
