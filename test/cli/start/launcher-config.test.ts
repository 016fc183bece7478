import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { readLauncherConfig } from '../../../cli/start/launcher-config.ts'

describe('the configuration of a start', () => {
  it('leaves unset and empty variables to the launcher', () => {
    assert.deepEqual(readLauncherConfig({ PORT: '' }), { HOST: '127.0.0.1', DATA_DIR: resolve('.data') })
  })

  it('is read from the environment', () => {
    const hashKey = 'ab'.repeat(32)
    const config = readLauncherConfig({ PORT: '8080', HASH_KEY: hashKey, DATA_DIR: '/var/lib/insights', OTHER: 'x' })
    assert.deepEqual(config, { PORT: 8080, HASH_KEY: hashKey, HOST: '127.0.0.1', DATA_DIR: '/var/lib/insights' })
  })

  it('has secrets from the files that the environment names', () => {
    const folder = mkdtempSync(join(tmpdir(), 'launcher-'))
    const file = join(folder, 'database-url')
    writeFileSync(file, 'postgres://user:password@db:5432/insights\n')
    const { DATABASE_URL } = readLauncherConfig({ DATABASE_URL_FILE: file })
    rmSync(folder, { recursive: true })
    assert.equal(DATABASE_URL, 'postgres://user:password@db:5432/insights')
  })

  it('is refused with the name and the expected form of a variable, even one that only a worker reads, and never with the value', () => {
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
