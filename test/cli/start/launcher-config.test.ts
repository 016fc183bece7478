import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { readLauncherConfig } from '../../../cli/start/launcher-config.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const HASH_KEY = 'ab'.repeat(32)
const DEFAULTS = { HOST: '127.0.0.1', WORKER_HOST: '127.0.0.1', SHUTDOWN_SECONDS: 15 }

describe('the configuration of a start', () => {
  it('has the defaults that the launcher uses, and no other unset or empty variable', () => {
    assert.deepEqual(readLauncherConfig({ PORT: '' }), { ...DEFAULTS, DATA_DIR: resolve('.data') })
  })

  it('is read from the environment, and secrets from the files that it names', () => {
    const file = join(temporaryDirectory(), 'hash-key')
    writeFileSync(file, HASH_KEY)
    const config = readLauncherConfig({ PORT: '8080', HASH_KEY_FILE: file, DATA_DIR: '/var/lib/insights', OTHER: 'x' })
    assert.deepEqual(config, { ...DEFAULTS, PORT: 8080, HASH_KEY, DATA_DIR: '/var/lib/insights' })
  })

  it('is refused with the name and the expected form of each bad variable, even of a worker, but not with the value', () => {
    const environment = { PORT: 'secret', LOG_LEVEL: 'secret', REDO_SECONDS: 'secret' }
    assert.throws(
      () => readLauncherConfig(environment),
      (error: Error) => {
        assert.match(error.message, /^PORT .*1 to 65535/m)
        assert.match(error.message, /^LOG_LEVEL .*debug, info/m)
        assert.match(error.message, /^REDO_SECONDS /m)
        assert.doesNotMatch(error.message, /secret/)
        return true
      },
    )
  })
})
