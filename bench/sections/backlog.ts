import { type CreateSection, feedbackTarget, loadOf, loadWith, newNumbers } from '../rig.ts'

/** The rate of accepted requests with a large backlog. No worker runs, so the backlog stays. */
export const backlog: CreateSection = async (rig) => {
  const { config, measures } = rig
  const service = await rig.service('backlog')
  await service.stopWorker()
  const target = feedbackTarget(service)
  await loadWith(rig, target, loadOf(newNumbers(rig, config.backlog)))
  return {
    round: async () => {
      const { accepted, seconds } = await loadWith(rig, target, { idempotencyKeys: true })
      measures.add('accepted with a backlog', accepted / seconds)
    },
  }
}
