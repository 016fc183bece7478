import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { RedisBinary } from './redis-binary.ts'

/** The words of Redis about a damaged file. From Redis 7 on they name the file, without its folder. */
const DAMAGED = /(?:Bad file format|Unexpected end of file) reading the append[ -]only file(?: (\w[\w.-]*\w))?/
const CHECKERS = ['redis-check-aof', 'valkey-check-aof']

/**
 * Names the damaged append-only file that Redis could not read, the repair, and the loss that the
 * repair causes. Undefined if the log shows no damage.
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
  const damaged = isFolder ? join(folder, name ?? '') : join(dataDir, 'appendonly.aof')
  const toMend = isFolder ? join(folder, 'appendonly.aof.manifest') : damaged
  return [
    `Redis did not start: its append-only file is damaged, in ${damaged}.`,
    `It can contain accepted submissions that Postgres does not have yet. First copy ${isFolder ? folder : damaged} to another place.`,
    'Then restore a backup of it, or cut off the file at the damage with this command. After that, start again.',
    '',
    `  ${commandOf(program, env)} --fix ${quoted(toMend)}`,
    '',
    'The command loses for good all submissions after the damage that Postgres does not have yet. Ask their senders to',
    'send them again: the same sourceId or id does not create a second record.',
  ].join('\n')
}

const commandOf = (program: string, env: Readonly<Record<string, string>>): string => {
  const assignments = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)} `)
  const checker = CHECKERS.map((name) => join(dirname(program), name)).find((path) => existsSync(path))
  return assignments.join('') + quoted(checker ?? CHECKERS[0]!)
}

/** Quotes a text for a shell. */
const quoted = (text: string): string => (/^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
