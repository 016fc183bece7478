import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { makeToken } from '../../contract/token-format.ts'
import { BadSettings, readSettings } from '../../runtime/settings.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const HASH_KEY = '5a'.repeat(32)

describe('a secret', () => {
  const folder = temporaryDirectory()
  const file = (text: string): string => {
    const path = join(folder, 'secret')
    writeFileSync(path, text)
    return path
  }

  it('may be in a file that the environment names', () => {
    const { HASH_KEY: read } = readSettings(['HASH_KEY'], { HASH_KEY: '', HASH_KEY_FILE: file(`${HASH_KEY}\n`) })
    assert.equal(read, HASH_KEY)
  })

  it('comes from the environment even if a file has one as well', () => {
    const environment = { HASH_KEY, HASH_KEY_FILE: file('ff'.repeat(32)) }
    assert.equal(readSettings(['HASH_KEY'], environment).HASH_KEY, HASH_KEY)
  })

  it('is checked in a file as well, and never quoted', () => {
    const read = () => readSettings(['HASH_KEY'], { HASH_KEY_FILE: file('sEcReT') })
    assert.throws(read, (error) => error instanceof BadSettings && error.message.startsWith('HASH_KEY is not valid'))
    assert.throws(read, (error) => error instanceof BadSettings && !error.message.includes('sEcReT'))
  })

  it('is an error if its file cannot be read', () => {
    const read = () => readSettings(['HASH_KEY'], { HASH_KEY_FILE: join(folder, 'nothing') })
    assert.throws(read, (error) => error instanceof BadSettings && error.message.startsWith('HASH_KEY_FILE '))
  })

  it('is the only kind of setting in files: others come only from the environment', () => {
    assert.equal(readSettings(['PORT'], { PORT_FILE: file('4000') }).PORT, 3000)
  })
})

describe('a port', () => {
  const read = (PORT: string) => readSettings(['PORT'], { PORT }).PORT

  it('is a whole number from 0 to 65535', () => {
    for (const port of [0, 3_000, 65_535]) assert.equal(read(String(port)), port)
    for (const bad of ['65536', '99999', '-1', '1e3', '80.5', 'http', ' 80']) {
      assert.throws(() => read(bad), BadSettings, bad)
    }
  })
})

describe('the origins of CORS_ORIGINS', () => {
  const read = (CORS_ORIGINS: string | undefined) => readSettings(['CORS_ORIGINS'], { CORS_ORIGINS }).CORS_ORIGINS

  it('are none unless set', () => {
    assert.equal(read(undefined), undefined)
    assert.equal(read(''), undefined)
  })

  it('are separated by commas', () => {
    assert.deepEqual(read('https://a.example, http://localhost:5173'), ['https://a.example', 'http://localhost:5173'])
  })

  it('have exactly the form of browsers', () => {
    for (const bad of [
      '*',
      'null',
      'a.example',
      'https://a.example/',
      'https://A.example',
      'https://a.example:443',
      ',',
      'ftp://a.example',
    ]) {
      assert.throws(() => read(bad), BadSettings, bad)
    }
  })
})

describe('bad settings are refused:', () => {
  const [token, other] = [makeToken(), makeToken()]
  const names = ['BOOTSTRAP_ACCESS_TOKEN', 'BOOTSTRAP_ADMIN_TOKEN'] as const
  const cases: readonly [string, () => unknown, RegExp][] = [
    [
      'a bootstrap token with our prefix and without its checksum',
      () => readSettings(names, { BOOTSTRAP_ACCESS_TOKEN: 'fbi_from_env_0123456789ab', BOOTSTRAP_ADMIN_TOKEN: token }),
      /^BOOTSTRAP_ACCESS_TOKEN is not valid: expected 16 to 200 visible ASCII characters; if it begins with fbi_, a whole token that/,
    ],
    [
      'two equal bootstrap tokens',
      () => readSettings(names, { BOOTSTRAP_ACCESS_TOKEN: token, BOOTSTRAP_ADMIN_TOKEN: token }),
      /^BOOTSTRAP_ACCESS_TOKEN and BOOTSTRAP_ADMIN_TOKEN are the same/,
    ],
    [
      'a pooler in the address but not in the mode',
      () => readSettings(['DATABASE_URL', 'DATABASE_POOLER'], { DATABASE_URL: 'postgres://u:p@h/d?pgbouncer=true' }),
      /^DATABASE_URL says pgbouncer=true: set DATABASE_POOLER=transaction\.$/,
    ],
    [
      'an address for reads that is not an address',
      () => readSettings(['READS_DATABASE_URL'], { READS_DATABASE_URL: 'nonsense' }),
      /^READS_DATABASE_URL is not valid: expected a URL such as postgres:/,
    ],
  ]
  for (const [title, read, message] of cases) {
    it(title, () => assert.throws(read, (error) => error instanceof BadSettings && message.test(error.message)))
  }

  it('but tokens that this service made are accepted', () => {
    const given = { BOOTSTRAP_ACCESS_TOKEN: token, BOOTSTRAP_ADMIN_TOKEN: other }
    assert.deepEqual({ ...readSettings(names, given) }, given)
  })
})
