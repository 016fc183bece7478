import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { lockDataDir } from '../../../../cli/start/embedded/data-dir-lock.ts'
import { keptTokens } from '../../../../cli/start/embedded/kept-secrets.ts'
import { writeServiceFile } from '../../../../runtime/service-file.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import { itWhere } from '../../../support/where.ts'

const UNPRIVILEGED = 65534
const isRoot = process.getuid?.() === 0

describe('a DATA_DIR that another user prepared', () => {
  const parent = temporaryDirectory()
  const newDir = (name: string): string => {
    const dir = join(parent, name)
    mkdirSync(dir)
    return dir
  }

  it('is refused when other users can write to it', () => {
    const dir = newDir('open')
    chmodSync(dir, 0o777)
    assert.throws(
      () => lockDataDir(dir),
      /Other users can write to .*open. If no other user has written to it, run chmod go-w/,
    )
    chmodSync(dir, 0o755)
    lockDataDir(dir).release()
  })

  itWhere('is refused when it belongs to that user', isRoot ? undefined : 'only root can give it away', () => {
    const dir = newDir('theirs')
    chownSync(dir, UNPRIVILEGED, UNPRIVILEGED)
    assert.throws(() => lockDataDir(dir), /belongs to another user.*Set DATA_DIR/)
  })

  it('gives no tokens through a link', () => {
    const dir = newDir('tokens')
    const elsewhere = join(parent, 'elsewhere')
    writeFileSync(elsewhere, 'BOOTSTRAP_ACCESS_TOKEN=a\nBOOTSTRAP_ADMIN_TOKEN=b\n', { mode: 0o600 })
    symlinkSync(elsewhere, join(dir, 'tokens.env'))
    assert.throws(() => keptTokens(dir), /tokens.env is not a regular file/)
  })

  it('gets no password through a link', async () => {
    const dir = newDir('service')
    const elsewhere = join(parent, 'theirs.json')
    writeFileSync(elsewhere, 'untouched')
    symlinkSync(elsewhere, join(dir, 'service.json'))
    await writeServiceFile(dir, {
      url: 'http://x',
      databaseUrl: 'secret',
      databaseSchema: undefined,
      redisUrl: 'secret',
      redisPrefix: undefined,
      hashKey: 'secret',
    })
    assert.equal(readFileSync(elsewhere, 'utf8'), 'untouched')
    assert.equal(statSync(join(dir, 'service.json')).mode & 0o777, 0o600)
  })
})
