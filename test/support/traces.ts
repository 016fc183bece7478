import { residueInPostgres } from '../../cli/purge/residue-in-postgres.ts'
import { residueInRedis } from '../../cli/purge/residue-in-redis.ts'
import { comparable, heldIn, soughtOf, type Residue } from '../../cli/purge/text-search.ts'
import type { Service } from './service.ts'

/**
 * Returns every place where a service holds one of the strings, in any case and with any escapes.
 * Searches Postgres with its planner statistics and current statements, Redis with its slow logs,
 * and the output of the processes.
 */
export const findTraces = async (
  { sql, redis, redisPrefix, output }: Pick<Service, 'sql' | 'redis' | 'redisPrefix' | 'output'>,
  strings: readonly string[],
): Promise<Residue[]> => {
  const sought = soughtOf(strings)
  const inRedis = await residueInRedis(redis, redisPrefix, sought)
  const inPostgres = await residueInPostgres(sql, sought)
  const inOutput = heldIn(comparable(output()), sought).map(({ text }) => ({ text, place: 'output', count: 1 }))
  return [...inPostgres.residue, ...inRedis.residue, ...inOutput]
}
