import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { makeToken } from '../../../contract/token-format.ts'
import { keptFile } from './kept-file.ts'

const HASH_KEY_BYTES = 32
const TOKEN_NAMES = ['BOOTSTRAP_ACCESS_TOKEN', 'BOOTSTRAP_ADMIN_TOKEN'] as const

export type Tokens = Readonly<Record<(typeof TOKEN_NAMES)[number], string>>

/** The key of this installation's hashes, made once. */
export const keptHashKey = (dataDir: string): string =>
  keptFile(join(dataDir, 'hash.key'), () => randomBytes(HASH_KEY_BYTES).toString('hex'))

/** The two tokens to begin with, made once and kept, so that every start can print them. */
export const keptTokens = (dataDir: string): Tokens => {
  const file = join(dataDir, 'tokens.env')
  const content = keptFile(file, () => TOKEN_NAMES.map((name) => `${name}=${makeToken()}`).join('\n'))
  const read = (name: (typeof TOKEN_NAMES)[number]): string => {
    const token = new RegExp(`^${name}=(\\S+)$`, 'm').exec(content)?.[1]
    if (token === undefined) throw new Error(`${file} has no ${name}: delete the file to have new tokens made`)
    return token
  }
  return {
    BOOTSTRAP_ACCESS_TOKEN: read('BOOTSTRAP_ACCESS_TOKEN'),
    BOOTSTRAP_ADMIN_TOKEN: read('BOOTSTRAP_ADMIN_TOKEN'),
  }
}
