import { readFileSync } from 'node:fs'
import { Cluster } from 'ioredis'
import type { RedisClient } from './connect-redis.ts'
import { keysOfScript } from '../keys.ts'

/** The text of a script in `lua/`, after the files of `lua/functions/` that it calls. */
export const luaScript = (name: string, functions: readonly string[]): string =>
  [...functions.map((each) => `functions/${each}`), name].map(readLua).join('')

const readLua = (path: string): string => readFileSync(new URL(`../lua/${path}.lua`, import.meta.url), 'utf8')

type Argument = string | number
type Defined = (numberOfKeys: number, ...rest: Argument[]) => Promise<unknown>

type WorkspaceScript<Answer> = (
  settings: readonly Argument[],
  workspaces: readonly { workspaceId: string; values: readonly Argument[] }[],
) => Promise<Answer[]>

/**
 * Defines a script that handles many workspaces in one call and answers for each. The values of a
 * workspace follow the beginning of its keys.
 *
 * @param atOnce the most workspaces of one call, during which Redis answers nothing else
 */
export const defineWorkspaceScript = <Answer>(
  { redis, prefix }: { redis: RedisClient; prefix: string },
  { name, atOnce }: { name: string; atOnce: number },
): WorkspaceScript<Answer> => {
  redis.defineCommand(name, { lua: luaScript(name, ['log']) })
  const call = (redis as unknown as Record<string, Defined>)[name]!.bind(redis)
  // On a cluster, workspaces can be in different slots.
  const portion = redis instanceof Cluster ? 1 : atOnce
  return async (settings, workspaces) => {
    const portions = Array.from({ length: Math.ceil(workspaces.length / portion) }, (_, at) =>
      workspaces.slice(at * portion, (at + 1) * portion),
    )
    const answers: Answer[] = []
    const called = portions.map((some) => {
      const { keys } = keysOfScript(prefix, some[0]!.workspaceId)
      const rest = some.flatMap(({ workspaceId, values }) => [keysOfScript(prefix, workspaceId).begin, ...values])
      return call(keys.length, ...keys, ...settings, ...rest) as Promise<Answer[]>
    })
    for (const some of await Promise.all(called)) answers.push(...some)
    return answers
  }
}
