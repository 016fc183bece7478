import { observeService } from '../observe.ts'
import { type CreateSection, feedbackTarget, untilAllFinished, warmUp } from '../rig.ts'

/** The same API and worker on the other runtime. */
export const deno: CreateSection = async (rig) => {
  const service = await rig.service('deno', { runtime: 'deno' })
  await warmUp(rig, [feedbackTarget(service)])
  await untilAllFinished(rig, service)
  return {
    round: async () => {
      const { perSecond } = await observeService(rig, service, { how: { idempotencyKeys: true } })
      rig.measures.add('end to end on Deno', perSecond)
    },
  }
}
