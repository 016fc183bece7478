import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { connectPostgres, type Sql } from '../../db/connection/postgres.ts'
import { bareEnvironment } from './service-process.ts'
import { GUARD_MS, until } from './until.ts'
import { isHere } from './where.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The words with which a shell runs a script on the runtime of the tests. */
export const runtime =
  process.versions['deno'] === undefined ? `'${process.execPath}'` : `'${process.execPath}' run --allow-all`

/** A substitute for `npm` and its `--` on a machine with only Bun. */
export const NPM_BY_BUN = `npm() { local words=(); for word; do [ "$word" = -- ] || words+=("$word"); done; '${process.execPath}' "\${words[@]}"; }`

export type Started = {
  readonly output: () => string
  /** The text after a word in the printed block. */
  readonly printed: (what: string) => string
  /** Sends SIGINT to all processes, like Ctrl-C in a terminal. Returns the exit code. */
  readonly interrupt: () => Promise<number | null>
  readonly kill: () => void
}

/** Runs `npm start` in the clone, and waits until it has printed its message. */
export const startClone = async (clone: string, settings: Readonly<Record<string, string>> = {}): Promise<Started> => {
  const words = isHere('npm') ? ['npm', 'start'] : [process.execPath, 'run', 'start']
  const child = spawn(words[0]!, words.slice(1), {
    cwd: clone,
    env: { ...bareEnvironment, ...settings },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null
  const kill = (): void => {
    if (!hasEnded()) process.kill(-child.pid!, 'SIGKILL')
  }
  const printed = (what: string): string => {
    const found = new RegExp(`^ +${what} +(\\S+)`, 'm').exec(output)?.[1]
    assert.ok(found, `${what} was not printed:\n${output}`)
    return found
  }
  try {
    // The last line of the message.
    const hasPrintedOrEnded = async (): Promise<boolean> => /^ +-d '/m.test(output) || hasEnded()
    await until('npm start has started', hasPrintedOrEnded)
    assert.ok(!hasEnded(), output)
  } catch (error) {
    kill()
    throw error
  }
  return {
    output: () => output,
    printed,
    interrupt: async () => {
      const ended = once(child, 'exit', { signal: AbortSignal.timeout(GUARD_MS) })
      process.kill(-child.pid!, 'SIGINT')
      await ended
      return child.exitCode
    },
    kill,
  }
}

/** Copies the tracked files, and the files that `git add` would add, to a new directory. */
export const cloneOfRepository = (): string => {
  const clone = mkdtempSync(join(tmpdir(), 'feedback-insights-readme-'))
  const list = ['-c', 'safe.directory=*', 'ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const { status, stdout, stderr } = spawnSync('git', list, { cwd: root, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  for (const path of new Set(stdout.split('\0'))) {
    if (path === '' || !existsSync(join(root, path))) continue
    mkdirSync(dirname(join(clone, path)), { recursive: true })
    cpSync(join(root, path), join(clone, path))
  }
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'))
  return clone
}

export const connectTo = (started: Started): Sql => {
  const options = { connections: 1, statementTimeoutMs: 10_000, applicationName: 'readme-test' }
  return connectPostgres(started.printed('PostgreSQL'), options)
}
