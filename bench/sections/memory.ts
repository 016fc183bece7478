import { restingBytes } from '../installation/redis-memory.ts'
import { type CreateSection, feedbackTarget, loadOf, loadWith, newNumbers, untilAllFinished } from '../rig.ts'

/** Each watch of the memory of Redis takes this share of the time of a usual load. */
const WATCHED_SHARE = 1 / 4

/** The memory of waiting submissions in Redis, without their bodies as JSON. */
export const memory: CreateSection = async (rig) => {
  const { config, measures } = rig
  const service = await rig.service('memory')
  const lookForMs = config.seconds * 1_000 * WATCHED_SHARE
  const fill = (): Promise<{ accepted: number; bodyBytes: number }> =>
    loadWith(rig, feedbackTarget(service), loadOf(newNumbers(rig, config.waiting)))
  await fill()
  await untilAllFinished(rig, service)
  return {
    round: async () => {
      await service.stopWorker()
      const before = await restingBytes(service.redis, lookForMs)
      const { accepted, bodyBytes } = await fill()
      const after = await restingBytes(service.redis, lookForMs)
      measures.add('Redis memory per waiting submission', (after - before - bodyBytes) / accepted)
      await service.startWorker()
      await untilAllFinished(rig, service)
    },
  }
}
