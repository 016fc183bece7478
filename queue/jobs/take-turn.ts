import type { RedisClient } from '../redis/connect-redis.ts'
import { processKeys } from '../keys.ts'
import { luaScript } from '../redis/lua-script.ts'

const TAKE_TURN = luaScript('take-turn')

/** Whether this process is the one that does something in this period: of all that ask, one is. */
export const takeTurn = async (
  redis: RedisClient,
  prefix: string,
  { name, periodMs }: { name: string; periodMs: number },
): Promise<boolean> => (await redis.eval(TAKE_TURN, 1, processKeys(prefix).turn(name), periodMs)) === 1
