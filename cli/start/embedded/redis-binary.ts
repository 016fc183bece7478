import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { probe, PROGRAM_NAMES, type RedisBinary } from './redis-program.ts'
import { redisFromArchive } from './redis-from-archive.ts'

/** A downloaded server lives with the other things that an installation brings, and goes with them. */
const CACHE_DIR = fileURLToPath(new URL('../../../node_modules/.cache/redis', import.meta.url))

/** Finds a Redis or Valkey server on this machine, or gets one; throws with what to do where that is impossible. */
export const redisBinary = async (log: (line: string) => void): Promise<RedisBinary> => {
  const found = onPath() ?? (await redisFromArchive({ cacheDir: CACHE_DIR, log })) ?? (await fromPackageManager(log))
  if (found !== undefined) return found
  throw new Error(
    'no Redis server here, and none could be fetched: install redis-server or valkey-server, or set REDIS_URL to a server of your own',
  )
}

const onPath = (): RedisBinary | undefined => {
  for (const name of PROGRAM_NAMES) {
    const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim()
    const binary = found === '' ? undefined : probe(found, {})
    if (binary !== undefined) return binary
  }
  return undefined
}

const fromPackageManager = async (log: (line: string) => void): Promise<RedisBinary | undefined> => {
  if (process.getuid?.() === 0 && succeeds('apt-get', '--version')) {
    log('Installing redis-server with apt-get …')
    // The run level keeps the package from starting a server of its own on the standard port.
    const script = 'apt-get update -qq; RUNLEVEL=1 apt-get install -y -qq --no-install-recommends redis-server'
    await finishes('env', ['DEBIAN_FRONTEND=noninteractive', 'sh', '-c', script])
    return onPath()
  }
  const brew = ['brew', '/opt/homebrew/bin/brew', '/usr/local/bin/brew'].find((name) => succeeds(name, '--version'))
  if (brew === undefined) return undefined
  log('Installing redis with Homebrew …')
  await finishes(brew, ['install', '--quiet', 'redis'])
  const prefix = spawnSync(brew, ['--prefix'], { encoding: 'utf8' }).stdout.trim()
  return onPath() ?? probe(join(prefix, 'bin', 'redis-server'), {})
}

const succeeds = (program: string, ...args: string[]): boolean => {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0
}

const finishes = (program: string, args: readonly string[]): Promise<void> => {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: 'ignore' })
    child.once('error', () => resolve())
    child.once('close', () => resolve())
  })
}
