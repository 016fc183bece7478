import type { RedisClient } from '../redis/connect-redis.ts'
import { processKeys } from '../keys.ts'
import { luaScript } from '../redis/lua-script.ts'

const TAKE_TURN = luaScript('take-turn')

/** Whether this process gets the turn of this period. Of all processes that ask, one gets it. */
export const takeTurn = async (
  redis: RedisClient,
  prefix: string,
  { name, periodMs }: { name: string; periodMs: number },
): Promise<boolean> => (await redis.eval(TAKE_TURN, 1, processKeys(prefix).turn(name), periodMs)) === 1
