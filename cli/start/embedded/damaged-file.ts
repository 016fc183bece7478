import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { RedisBinary } from './redis-binary.ts'

/** What Redis logs before it ends; the first group is a file, in Redis 7 without its folder. */
const DAMAGED = /(?:Bad file format|Unexpected end of file) reading the append[ -]only file:? ?([^\s:]*)/
const CHECKERS = ['redis-check-aof', 'valkey-check-aof']

/**
 * What the end of a Redis means that cannot read its append-only file: which file it is, how to
 * mend it, and what that costs. Undefined when its log says something else.
 */
export const explainDamage = (
  log: string,
  { dataDir, program, env }: Pick<RedisBinary, 'program' | 'env'> & { dataDir: string },
): string | undefined => {
  const [found, name] = DAMAGED.exec(log) ?? []
  if (found === undefined) return undefined
  const folder = join(dataDir, 'appendonlydir')
  // Before Redis 7 it is one file.
  const isFolder = existsSync(folder)
  const damaged = isFolder ? join(folder, name || 'appendonly.aof.1.incr.aof') : join(dataDir, 'appendonly.aof')
  const toMend = isFolder ? join(folder, 'appendonly.aof.manifest') : damaged
  return [
    `Redis did not start: its append-only file is damaged, in ${damaged}.`,
    `It holds what was accepted and is not stored yet. Copy ${isFolder ? folder : damaged} to another place first.`,
    'Then put a backup of it back, or cut it off where the damage begins, and start again:',
    '',
    `  ${commandOf(program, env)} --fix ${quoted(toMend)}`,
    '',
    'That loses for good what was accepted after the damage and is not stored yet. Have those who sent it send it again:',
    'with the same sourceId or id nothing is doubled.',
  ].join('\n')
}

const commandOf = (program: string, env: Readonly<Record<string, string>>): string => {
  const assignments = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)} `)
  const checker = CHECKERS.map((name) => join(dirname(program), name)).find((path) => existsSync(path))
  return assignments.join('') + quoted(checker ?? CHECKERS[0]!)
}

/** For a shell. */
const quoted = (text: string): string => (/^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
