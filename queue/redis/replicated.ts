import { createHash } from 'node:crypto'
import type { ChainableCommander } from 'ioredis'
import { coalesce } from '../../runtime/coalesce.ts'
import { ADMIT, KEYS_OF_ADMIT, type SendAdmit, type SendResult } from '../admission/call-admit.ts'
import { onNewConnection, type RedisClient } from './connect-redis.ts'
import { isRefusedByRedis } from './refusal-of-redis.ts'

const ADMIT_SHA1 = createHash('sha1').update(ADMIT).digest('hex')
/** `REPLICATED_AT_ONCE` waits, one after the other, end within the timeout of a command. */
const REPLICATED_WITHIN_MS = 500
/** A call that waits for replicas delays the later calls on its connection. */
const REPLICATED_AT_ONCE = 3
/** After a call that too few replicas answered in time, nothing is sent for this time. */
const SEND_AGAIN_AFTER_MS = 1_000

/**
 * Sends calls of admit.lua. After each call, waits a bounded time until `replicas` replicas have
 * its writes.
 *
 * @param redis a connection that nothing else uses: WAIT delays the commands after it
 */
export const createReplicatedSend = (redis: RedisClient, replicas: number): SendAdmit => {
  const send = createSend(redis, replicas)
  let sendAgainAt = 0
  const runLimited = coalesce(async ([call]: readonly (() => Promise<SendResult>)[]) => [await call!()], {
    items: 1,
    concurrency: REPLICATED_AT_ONCE,
  })
  return (keysAndArguments) =>
    runLimited(async () => {
      if (performance.now() < sendAgainAt) return { texts: undefined, isReplicated: false }
      const sent = await send(keysAndArguments)
      if (!sent.isReplicated) sendAgainAt = performance.now() + SEND_AGAIN_AFTER_MS
      return sent
    })
}

/**
 * Sends the hash of the script if the server has loaded the script, else the text. After a
 * failover, the new server may not have loaded it.
 */
const createSend = (redis: RedisClient, replicas: number): SendAdmit => {
  let isKnown = false
  onNewConnection(redis, () => {
    isKnown = false
  })
  return async (keysAndArguments) => {
    const sendBy = (isByHash: boolean) =>
      isByHash
        ? admitAndWait(redis.pipeline().evalsha(ADMIT_SHA1, KEYS_OF_ADMIT, ...keysAndArguments), replicas)
        : admitAndWait(redis.pipeline().eval(ADMIT, KEYS_OF_ADMIT, ...keysAndArguments), replicas)
    const first = await sendBy(isKnown)
    const isUnknown = isRefusedByRedis(first.fault) && first.fault.message.startsWith('NOSCRIPT')
    const { fault, texts, isReplicated } = isUnknown ? await sendBy(false) : first
    if (fault !== null) throw fault
    isKnown = true
    return { texts: texts as string[], isReplicated }
  }
}

/**
 * WAIT follows the script on the same connection, so that one server carries out both. A defined
 * command would not do: if the server has not loaded the script, ioredis sends the script again
 * after WAIT.
 */
const admitAndWait = async (
  admission: ChainableCommander,
  replicas: number,
): Promise<{ fault: Error | null; texts: unknown; isReplicated: boolean }> => {
  const [admit, wait] = (await admission.wait(replicas, REPLICATED_WITHIN_MS).exec())!
  const isReplicated = wait![0] === null && Number(wait![1]) >= replicas
  return { fault: admit![0], texts: admit![1], isReplicated }
}
