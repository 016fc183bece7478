import { Buffer } from 'node:buffer'
import { createHmac, hash } from 'node:crypto'
import { isAddress, isPlaceholder, withoutFormat } from './placeholders.ts'

// The canonical forms of keys, for comparison and hashing. Columns keep the text as it was sent.

const WHITE_SPACE = /\s+/gu
const ADDRESS_IN_BRACKETS = /<([^<>]*)>$/
const MAILTO = /^(?:mailto:\s*)+/i
const URL_SCHEME = /^https?:\/\//i
const PORT = /^([^:]*):\d+$/
/** The lookbehind keeps the time linear: a match begins only at the start of a run. */
const END_OF_HOST = /(?<![.:\s])[.:\s]+$/
const WWW = /^(?:www\.\s*)+(?=.)/s

/**
 * Folds ASCII letters only: `toLowerCase` would also turn the KELVIN SIGN into a k, and two emails
 * would become one.
 */
const asciiLowerCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/** A placeholder counts as absent, as sent and in canonical form. */
const unlessAbsent = (plain: string, canonical: string): string | undefined =>
  isPlaceholder(plain) || isPlaceholder(canonical) ? undefined : canonical

/** The bare address, in lower case if it has an `@`. Undefined if the email counts as absent. */
const emailForm = (given: string): string | undefined => {
  const plain = withoutFormat(given)
  const address = ADDRESS_IN_BRACKETS.exec(plain)?.[1] ?? plain
  const bare = address.trim().replace(MAILTO, '')
  // NFC turns the KELVIN SIGN into a K. NFC comes last, so that this K does not become a k.
  return unlessAbsent(plain, (bare.includes('@') ? asciiLowerCase(bare) : bare).normalize('NFC'))
}

/**
 * The canonical form of an email. Undefined if it counts as absent or is no address: then it is no
 * key.
 */
export const canonicalEmail = (given: string): string | undefined => {
  const form = emailForm(given)
  return form !== undefined && isAddress(form) ? form : undefined
}

/**
 * Whether a text counts as an email. A text that is no address counts: the column of a contact keeps
 * it.
 */
export const hasEmail = (given: string): boolean => emailForm(given) !== undefined

/**
 * The canonical form of a name of a contact, account or project. Undefined if it counts as absent.
 */
export const canonicalName = (given: string): string | undefined => {
  const plain = withoutFormat(given)
  return unlessAbsent(plain, plain.replace(WHITE_SPACE, ' ').normalize('NFC'))
}

/**
 * The canonical form of a domain: the host of a URL, without `www.`, port and final dot, in lower
 * case if it has a dot. Undefined if it counts as absent.
 */
export const canonicalDomain = (given: string): string | undefined => {
  const plain = withoutFormat(given)
  const host = hostOf(plain.normalize('NFC'))
  return unlessAbsent(plain, host.includes('.') ? asciiLowerCase(host).replace(WWW, '') : host)
}

/**
 * The host in a URL, or in a text with a dot before its path. Any other text stays unchanged:
 * `Sales/EU` names no host.
 */
const hostOf = (text: string): string => {
  const isUrl = URL_SCHEME.test(text)
  const [authority = ''] = text.replace(URL_SCHEME, '').split(/[/?#]/, 1)
  if (!isUrl && !authority.includes('.')) return text
  const host = isUrl ? authority.slice(authority.lastIndexOf('@') + 1) : authority
  return host.trimStart().replace(END_OF_HOST, '').replace(PORT, '$1').replace(END_OF_HOST, '')
}

/** The secret of the installation. */
export type HashKey = Buffer

/** From 64 hexadecimal digits (`HASH_KEY`). */
export const hashKeyFrom = (hexadecimal: string): HashKey => Buffer.from(hexadecimal, 'hex')

export const keyedHash = (key: HashKey, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** The input that all hashed own ids of a workspace share. So two workspaces share no own id. */
export type Realm = { hashKey: HashKey; workspaceId: string }

/** The kinds of own ids: of the keys of contacts, accounts and projects, and of records. */
export type OwnIdKind =
  | 'contact_external'
  | 'contact_bare'
  | 'contact_email'
  | 'contact_record'
  | 'account_external'
  | 'account_name'
  | 'account_domain'
  | 'project'
  | 'feedback'
  | 'conversation'
  | 'message'

/**
 * The id of a key in a workspace: a keyed SHA-256 as a UUID of version 8. Every process computes
 * the same id, before anything is stored. The id does not reveal the key to a reader without the
 * hash key.
 */
export const ownId = ({ hashKey, workspaceId }: Realm, kind: OwnIdKind, ...parts: readonly string[]): string => {
  const hex = keyedHash(hashKey, JSON.stringify([workspaceId, kind, ...parts])).toString('hex')
  return uuidOf(hex, '89ab'[Number.parseInt(hex[16]!, 16) & 3]!)
}

/**
 * The own id of a key in an epoch. In epoch 0 it is the key itself. A plain hash is enough, since
 * the key is a keyed hash.
 */
export const idOfEpoch = (keyId: string, epoch: number): string =>
  epoch === 0 ? keyId : uuidOf(hash('sha256', `${keyId}:${epoch}`, 'hex'), '8')

/** The first 128 bits of a hash as a UUID of version 8. */
const uuidOf = (hex: string, variant: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The canonical form of a UUID. Undefined for another text. */
export const asUuid = (value: string): string | undefined => (UUID.test(value) ? value.toLowerCase() : undefined)

// Keys of contacts, accounts and projects, as own ids of epoch 0.

/** An external id of a contact, in all sources. */
export const contactIdKey = (realm: Realm, externalId: string): string => ownId(realm, 'contact_bare', externalId)

/** An external id of a contact in one source. */
export const contactSourceKey = (realm: Realm, source: string, externalId: string): string =>
  ownId(realm, 'contact_external', source, externalId)

/** @param email in canonical form */
export const emailKey = (realm: Realm, email: string): string => ownId(realm, 'contact_email', email)

/**
 * A contact with a name alone belongs to one feedback. The key is always in epoch 0: no purge can
 * name such a contact.
 */
export const recordContactKey = (realm: Realm, feedbackId: string): string => ownId(realm, 'contact_record', feedbackId)

/** An external id of an account: the same key in all sources. */
export const accountIdKey = (realm: Realm, externalId: string): string => ownId(realm, 'account_external', externalId)

/** @param domain in canonical form */
export const domainKey = (realm: Realm, domain: string): string => ownId(realm, 'account_domain', domain)

/** @param name in canonical form */
export const accountNameKey = (realm: Realm, name: string): string => ownId(realm, 'account_name', name)

/** @param name in canonical form */
export const projectKey = (realm: Realm, name: string): string => ownId(realm, 'project', name)
