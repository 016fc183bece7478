import { type CreateSection, feedbackTarget, loadOf, loadWith, newNumbers } from '../rig.ts'

/**
 * The rate at which requests are accepted while much is waiting. No worker runs, so that it stays.
 */
export const backlog: CreateSection = async (rig) => {
  const { config, measures, takeNumbers } = rig
  const behind = await rig.service('backlog')
  await behind.stopWorker()
  const target = feedbackTarget(behind)
  await loadWith(rig, target, loadOf(newNumbers(takeNumbers, config.backlog)))
  return {
    round: async () => {
      const { accepted, seconds } = await loadWith(rig, target, { idempotencyKeys: true })
      measures.add('accepted with a backlog', accepted / seconds)
    },
  }
}
