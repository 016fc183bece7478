import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { makeToken } from '../../../contract/token-format.ts'
import { refuseForeignFile } from './trusted-path.ts'

const HASH_KEY_BYTES = 32
const PASSWORD_BYTES = 24
const TOKEN_NAMES = ['BOOTSTRAP_ACCESS_TOKEN', 'BOOTSTRAP_ADMIN_TOKEN'] as const

export type Tokens = Readonly<Record<(typeof TOKEN_NAMES)[number], string>>

/** The key for the hashes of this installation, made once. The first call stores `first`. */
export const keptHashKey = (dataDir: string, first = randomBytes(HASH_KEY_BYTES).toString('hex')): string =>
  keptFile(join(dataDir, 'hash.key'), () => first)

export const newPassword = (): string => randomBytes(PASSWORD_BYTES).toString('hex')

/** A password of a server. The first call stores `first`. */
export const keptPassword = (dataDir: string, name = 'password', first = newPassword()): string =>
  keptFile(join(dataDir, name), () => first)

/** The tokens that the first start makes. They are stored, so that every start can print them. */
export const keptTokens = (dataDir: string): Tokens => {
  const file = join(dataDir, 'tokens.env')
  const content = keptFile(file, () => TOKEN_NAMES.map((name) => `${name}=${makeToken()}`).join('\n'))
  const read = (name: (typeof TOKEN_NAMES)[number]): string => {
    const token = new RegExp(`^${name}=(\\S+)$`, 'm').exec(content)?.[1]
    if (token === undefined)
      throw new Error(`${file} has no ${name}: delete the file, and the next start makes new tokens`)
    return token
  }
  return {
    BOOTSTRAP_ACCESS_TOKEN: read('BOOTSTRAP_ACCESS_TOKEN'),
    BOOTSTRAP_ADMIN_TOKEN: read('BOOTSTRAP_ADMIN_TOKEN'),
  }
}

/**
 * The content of a private file (mode 0600). The first call makes the file. Simultaneous calls
 * return the same content.
 */
const keptFile = (file: string, make: () => string): string => {
  if (!existsSync(file)) {
    // Written under another name and then linked, so that a reader never sees an incomplete file.
    const draft = `${file}.${process.pid}`
    rmSync(draft, { force: true })
    writeFileSync(draft, `${make()}\n`, { mode: 0o600, flag: 'wx', flush: true })
    try {
      linkSync(draft, file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      rmSync(draft, { force: true })
    }
  }
  refuseForeignFile(file)
  return readFileSync(file, 'utf8').trimEnd()
}
