import { observe } from '../observe.ts'
import { type CreateSection, feedbackTarget, untilAllFinished, warmUp } from '../rig.ts'

/** The same API and worker on the other runtime. */
export const deno: CreateSection = async (rig) => {
  const { measures, serverPids } = rig
  const service = await rig.service('deno', { runtime: 'deno' })
  const target = feedbackTarget(service)
  await warmUp(rig, [target])
  await untilAllFinished(rig, service)
  return {
    round: async () => {
      const { perSecond } = await observe(rig, {
        target,
        how: { idempotencyKeys: true },
        until: () => untilAllFinished(rig, service),
        pids: { ...service.pids(), ...serverPids },
      })
      measures.add('end to end on Deno', perSecond)
    },
  }
}
