import { drainFor } from '../installation/drain.ts'
import { fillQueue } from '../installation/fill-queue.ts'
import { type CreateSection, feedbackFilling, feedbackTarget, loadWith, drainBounds, warmUp } from '../rig.ts'

/** The same API and worker on the other runtime. */
export const deno: CreateSection = async (rig) => {
  const { config, measures } = rig
  const installation = await rig.installation('deno', 'deno')
  const target = feedbackTarget(installation)
  // As long as on Bun: V8, too, compiles what has run for a while.
  await warmUp(rig, [target])
  await installation.empty()
  return {
    round: async () => {
      const { accepted, seconds } = await loadWith(rig, target, { idempotencyKeys: true })
      measures.add('accepted on Deno', accepted / seconds)
      await installation.empty()
      await fillQueue(installation, 'create_feedback', feedbackFilling(rig, config.drained))
      const drained = await drainFor(installation.drained('submissions'), drainBounds(config))
      measures.add('feedback drained on Deno', drained.perSecond)
      await installation.empty()
    },
  }
}
