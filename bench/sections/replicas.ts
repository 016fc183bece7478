import { STEADY_PER_SECOND } from '../bench-config.ts'
import { type CreateSection, feedbackTarget, loadWith, warmUp } from '../rig.ts'

const REDIS_MEMORY_BYTES = 512 * 1024 ** 2

/**
 * The cost of REDIS_REPLICAS_ACK. Each of two services has a Redis with a replica. One of them
 * waits for the replica before it confirms.
 */
export const replicas: CreateSection = async (rig) => {
  const { measures } = rig
  const services = [
    [await rig.service('master', { redisMemoryBytes: REDIS_MEMORY_BYTES }), 'on a master with a replica'],
    [await rig.service('replicated', { redisMemoryBytes: REDIS_MEMORY_BYTES, replicasAck: 1 }), 'on a replica as well'],
  ] as const
  for (const [service] of services) {
    await rig.startReplica(service)
    await service.stopWorker()
  }
  await warmUp(
    rig,
    services.map(([service]) => feedbackTarget(service)),
  )
  return {
    round: async () => {
      for (const [service, how] of services) {
        const { accepted, seconds } = await loadWith(rig, feedbackTarget(service), { idempotencyKeys: true })
        measures.add(`accepted, ${how}`, accepted / seconds)
        const steady = await loadWith(rig, feedbackTarget(service), {
          idempotencyKeys: true,
          perSecond: STEADY_PER_SECOND,
        })
        measures.add(`p99 at a steady rate, ${how}`, steady.p99Ms)
      }
    },
  }
}
