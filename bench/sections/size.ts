import { countFinished } from '../installation/finished.ts'
import type { Service } from '../installation/service.ts'
import { observeService } from '../observe.ts'
import { type CreateSection, feedbackTarget, loadOf, loadWith, newNumbers, type Rig, untilAllFinished } from '../rig.ts'

/** End to end with much stored feedback of the same people. */
export const size: CreateSection = async (rig) => {
  const stored = await storedService(rig)
  return {
    round: async () => {
      const { perSecond } = await observeService(rig, stored)
      rig.measures.add('end to end with much stored', perSecond)
    },
  }
}

/** The service with much feedback for `size` and `purge`. The first call fills it. */
export const storedService = async (rig: Rig): Promise<Service> => {
  const service = await rig.service('stored')
  const missing = rig.config.storedFeedback - (await countFinished(service))
  if (missing > 0) {
    const target = feedbackTarget(service)
    await loadWith(rig, target, loadOf(newNumbers(rig, missing)))
    await untilAllFinished(rig, service)
    rig.warm.add(target.url)
  }
  return service
}
