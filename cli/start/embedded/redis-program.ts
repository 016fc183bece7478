import { spawnSync } from 'node:child_process'

export type RedisBinary = {
  readonly program: string
  /** What it needs beside its name, e.g. where its libraries are. */
  readonly env: Readonly<Record<string, string>>
  readonly version: string
}

export const PROGRAM_NAMES = ['redis-server', 'valkey-server'] as const

/** The program as it introduces itself, or undefined when it does not run here. */
export const probe = (program: string, env: Readonly<Record<string, string>>): RedisBinary | undefined => {
  // `env` sets what is added and leaves the rest as this program has it.
  const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const answer = spawnSync('env', [...assignments, program, '--version'], { encoding: 'utf8' })
  const version = /\bv=(\d+\.\d+\.\d+)/.exec(answer.stdout ?? '')?.[1]
  return answer.status === 0 && version !== undefined ? { program, env, version } : undefined
}
