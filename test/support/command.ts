import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Service } from './service.ts'
import { spawnProgram } from './service-process.ts'

export type CommandResult = { code: number | null; stdout: string; stderr: string }

/** Runs a command, such as `cli/token-command.ts`, in the environment of a service. */
export const runCommand = async (
  { environment }: Pick<Service, 'environment'>,
  program: string,
  ...words: readonly string[]
): Promise<CommandResult> => resultOf(spawnProgram(program, words, { ...environment }))

/** The output of a command that has to succeed. */
export const outputOf = async (...call: Parameters<typeof runCommand>): Promise<string> => {
  const { code, stdout, stderr } = await runCommand(...call)
  assert.equal(code, 0, stdout + stderr)
  return stdout
}

/** Waits until a process has ended. Returns its exit code and its output. */
export const resultOf = async (child: ReturnType<typeof spawnProgram>): Promise<CommandResult> => {
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  await once(child, 'close')
  return { code: child.exitCode, stdout, stderr }
}
