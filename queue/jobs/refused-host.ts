import { codeOf } from '../../runtime/fault.ts'
import { checkedAddresses, NOT_PUBLIC_ADDRESS, withoutBrackets } from '../../runtime/public-address.ts'
import type { RedisClient } from '../redis/connect-redis.ts'
import { createProcessReports } from './process-reports.ts'

/**
 * Why the workers would refuse the host of a webhook; undefined if none would. Their reports have the
 * hosts that they allow. Without a worker, those of `own` count.
 */
export const findHostProblem = async (
  { redis, prefix }: { redis: RedisClient; prefix: string },
  url: string,
  own: readonly string[] = [],
): Promise<string | undefined> => {
  const reports = await createProcessReports(redis, prefix).read()
  const lists = reports.filter(({ queues }) => queues.includes('webhook')).map(({ allowedHosts }) => allowedHosts)
  const { hostname } = new URL(url)
  for (const allowed of lists.length === 0 ? [own] : lists) {
    try {
      await checkedAddresses(hostname, allowed)
    } catch (error) {
      // A worker may resolve names that this machine cannot resolve.
      if (codeOf(error) !== NOT_PUBLIC_ADDRESS) continue
      return `${hostname} has an address outside the public internet. To allow it, add ${withoutBrackets(hostname)} to WEBHOOK_ALLOWED_HOSTS of each worker, and restart the workers.`
    }
  }
  return undefined
}
