import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { makePackage } from '../../cli/client/make-package.ts'
import type { SharedService } from '../support/shared-service.ts'
import { USER_SECRET } from './vendor-signs.ts'
import { GUARD_MS } from '../support/until.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const programs = join(root, 'node_modules', '.bin')
const READY = /listening on port (\d+)/

export type Runtime = 'Bun' | 'Deno'
const COMMANDS: Record<Runtime, readonly string[]> = {
  Bun: [join(programs, 'bun')],
  Deno: [join(programs, 'deno'), 'run', '--allow-net', '--allow-env', '--allow-read', '--allow-write', '--no-check'],
}

/** Copies the recipes into a directory, and installs the package of the client there. */
export const installRecipes = async (directory: string): Promise<void> => {
  cpSync(join(root, 'docs', 'recipes'), directory, { recursive: true })
  writeFileSync(join(directory, 'package.json'), '{"type": "module", "private": true}')
  const archive = await makePackage(directory)
  const { status, stderr } = spawnSync(join(programs, 'bun'), ['add', archive], { cwd: directory, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
}

type Run = {
  readonly directory: string
  readonly runtime: Runtime
  readonly environment: Readonly<Record<string, string>>
}

/** The settings of a receiver that submits to a service. */
export const settingsOf = ({ urls, accessToken }: SharedService, secret: string) => ({
  FEEDBACK_URL: urls[0]!,
  ACCESS_TOKEN: accessToken,
  WEBHOOK_SECRET: secret,
  USER_SECRET,
})

/** Starts a recipe as a separate process. */
export const spawnRecipe = (file: string, { directory, runtime, environment }: Run): ChildProcess => {
  const [program = '', ...words] = COMMANDS[runtime]
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, ...environment }
  const child = spawn(program, [...words, file], { cwd: directory, env, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stderr.pipe(process.stderr, { end: false })
  return child
}

/** `warnings` returns the output on standard error so far. */
type Receiver = AsyncDisposable & { readonly url: string; readonly warnings: () => string }

/** Starts a receiver, which listens until it is disposed of. */
export const startReceiver = async (file: string, run: Run): Promise<Receiver> => {
  const child = spawnRecipe(file, { ...run, environment: { ...run.environment, PORT: '0' } })
  let output = ''
  let warnings = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (warnings += text))
  const port = await new Promise<string>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${file} does not listen: ${output}`)), GUARD_MS)
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}: ${output}`)))
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const found = READY.exec(output)?.[1]
      if (found === undefined) return
      clearTimeout(late)
      resolve(found)
    })
  })
  const stop = async (): Promise<void> => {
    const ended = once(child, 'exit')
    child.kill()
    await ended
  }
  return { url: `http://127.0.0.1:${port}`, warnings: () => warnings, [Symbol.asyncDispose]: stop }
}
