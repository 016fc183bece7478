import { restingBytes } from '../installation/redis-memory.ts'
import { countSettled, untilSettled } from '../installation/settled.ts'
import { type CreateSection, feedbackTarget, LONGEST_LOAD_SECONDS, loadWith, newNumbers } from '../rig.ts'

/** Redis is looked at for a part of the time that a load has. */
const LOOKS_PER_LOAD = 4

/** What submissions weigh in Redis while they wait, beyond their bodies as JSON. */
export const memory: CreateSection = async (rig) => {
  const { config, measures, takeNumbers } = rig
  const service = await rig.service('memory')
  const lookForMs = (config.seconds * 1_000) / LOOKS_PER_LOAD
  let expected = await countSettled(service)
  const fill = async (): Promise<{ accepted: number; bodyBytes: number }> => {
    const numbers = newNumbers(takeNumbers, config.waiting)
    const how = { numbers, seconds: LONGEST_LOAD_SECONDS, idempotencyKeys: true }
    const filled = await loadWith(rig, feedbackTarget(service), how)
    expected += filled.accepted
    return filled
  }
  await fill()
  await untilSettled(service, expected)
  return {
    round: async () => {
      await service.stopWorker()
      const before = await restingBytes(service.redis, lookForMs)
      const { accepted, bodyBytes } = await fill()
      const after = await restingBytes(service.redis, lookForMs)
      measures.add('Redis memory per waiting submission', (after - before - bodyBytes) / accepted)
      await service.startWorker()
      await untilSettled(service, expected)
    },
  }
}
