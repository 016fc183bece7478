import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * The runtime of a service's processes: Bun, or Deno if `npm test` sets TEST_RUNTIME or runs the
 * tests on it.
 */
export const SERVICE_RUNTIME =
  process.env['TEST_RUNTIME'] === 'deno' || process.versions['deno'] !== undefined ? 'deno' : 'bun'

/** The words before a program of the service. */
export const SERVICE_COMMAND: readonly [string, ...string[]] =
  SERVICE_RUNTIME === 'bun'
    ? [process.execPath]
    : [join(root, 'node_modules', '.bin', 'deno'), 'run', '--allow-all', '--no-check']
