import { drainFor } from '../installation/drain.ts'
import { fillQueue } from '../installation/fill-queue.ts'
import { type CreateSection, feedbackFilling, drainBounds } from '../rig.ts'

/** The drain of feedback whose contacts, and many more, are stored already. */
export const size: CreateSection = async (rig) => {
  const { config, measures } = rig
  const stored = await rig.installation('stored')
  return {
    round: async () => {
      await fillQueue(stored, 'create_feedback', feedbackFilling(rig, config.drained))
      const { perSecond } = await drainFor(stored.drained('submissions'), drainBounds(config))
      measures.add('feedback drained with much stored', perSecond)
      await stored.emptyQueues()
    },
  }
}
