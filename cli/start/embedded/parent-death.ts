import { spawnSync } from 'node:child_process'
import process from 'node:process'

let supported: boolean | undefined

/**
 * Words to put before a command so that it gets `signal` when this program dies without a chance to end it.
 * Empty where the system cannot do that (macOS); there the next start ends what was left behind.
 */
export const signalOnParentDeath = (signal: NodeJS.Signals): readonly string[] => {
  supported ??= process.platform === 'linux' && spawnSync('setpriv', ['--pdeathsig', 'SIGTERM', 'true']).status === 0
  return supported ? ['setpriv', '--pdeathsig', signal] : []
}
