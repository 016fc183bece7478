import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { RedisBinary } from './redis-binary.ts'

/**
 * The last words in the log of Redis. The first group is the file, in Redis 7 without its folder.
 */
const DAMAGED = /(?:Bad file format|Unexpected end of file) reading the append[ -]only file:? ?([^\s:]*)/
const CHECKERS = ['redis-check-aof', 'valkey-check-aof']

/**
 * Explains why Redis ended, if it could not read its append-only file: the file, the repair, and
 * the loss that the repair causes. Undefined if the log shows another reason.
 */
export const explainDamage = (
  log: string,
  { dataDir, program, env }: Pick<RedisBinary, 'program' | 'env'> & { dataDir: string },
): string | undefined => {
  const [found, name] = DAMAGED.exec(log) ?? []
  if (found === undefined) return undefined
  const folder = join(dataDir, 'appendonlydir')
  // Before Redis 7 the append-only file is a single file.
  const isFolder = existsSync(folder)
  const damaged = isFolder ? join(folder, name || 'appendonly.aof.1.incr.aof') : join(dataDir, 'appendonly.aof')
  const toMend = isFolder ? join(folder, 'appendonly.aof.manifest') : damaged
  return [
    `Redis did not start: its append-only file is damaged, in ${damaged}.`,
    `It contains accepted submissions that Postgres does not have yet. Copy ${isFolder ? folder : damaged} to another place first.`,
    'Then restore a backup of it, or cut off the file at the damage, and start again:',
    '',
    `  ${commandOf(program, env)} --fix ${quoted(toMend)}`,
    '',
    'That loses for good all submissions after the damage that Postgres does not have yet. Ask their senders to send them again:',
    'the same sourceId or id does not create a second record.',
  ].join('\n')
}

const commandOf = (program: string, env: Readonly<Record<string, string>>): string => {
  const assignments = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)} `)
  const checker = CHECKERS.map((name) => join(dirname(program), name)).find((path) => existsSync(path))
  return assignments.join('') + quoted(checker ?? CHECKERS[0]!)
}

/** Quotes a text for a shell. */
const quoted = (text: string): string => (/^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
