import { Buffer } from 'node:buffer'
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'

/** A certificate and its key, as PEM. */
export type Certificate = { readonly certificate: string; readonly key: string }

export type Authority = {
  /** The certificate of the authority, as PEM. Programs trust it only if configured. */
  readonly certificate: string
  /** A certificate for only one name or IPv4 address, valid today. */
  readonly issueFor: (name: string) => Certificate
}

const DAY_MS = 24 * 60 * 60 * 1_000

/**
 * A new authority. It writes DER (RFC 5280) itself, since node:crypto makes no certificates and
 * `openssl` is not on every machine.
 */
export const makeAuthority = (): Authority => {
  const own = makeKeys()
  const common = { signer: own.privateKey, issuer: 'Test authority' }
  return {
    certificate: issue({ ...common, subject: common.issuer, publicKey: own.publicKey, extension: MAY_SIGN }),
    issueFor: (name) => {
      const { publicKey, privateKey } = makeKeys()
      return {
        certificate: issue({ ...common, subject: name, publicKey, extension: namedAs(name) }),
        key: pem('PRIVATE KEY', privateKey.export({ type: 'pkcs8', format: 'der' })),
      }
    },
  }
}

const makeKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })

const issue = (about: {
  signer: KeyObject
  issuer: string
  subject: string
  publicKey: KeyObject
  extension: Buffer
}): string => {
  const content = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    nameOf(about.issuer),
    sequence(time(Date.now() - DAY_MS), time(Date.now() + DAY_MS)),
    nameOf(about.subject),
    about.publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(about.extension)),
  )
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', content, about.signer)])
  return pem('CERTIFICATE', sequence(content, ECDSA_WITH_SHA256, tagged(0x03, signature)))
}

const tagged = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts)
  const size = content.length
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}
const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(0x30, ...parts)
const set = (...parts: readonly Uint8Array[]): Buffer => tagged(0x31, ...parts)
const integer = (bytes: Uint8Array): Buffer => tagged(0x02, bytes)
const identifier = (...bytes: readonly number[]): Buffer => tagged(0x06, Buffer.from(bytes))
/** A UTCTime: YYMMDDhhmmssZ. */
const time = (at: number): Buffer =>
  tagged(0x17, Buffer.from(`${new Date(at).toISOString().slice(2, 19).replaceAll(/[-T:]/g, '')}Z`))

const COMMON_NAME = identifier(0x55, 0x04, 0x03)
const ECDSA_WITH_SHA256 = sequence(identifier(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
const TRUE = tagged(0x01, Buffer.from([0xff]))
const MAY_SIGN = sequence(identifier(0x55, 0x1d, 0x13), TRUE, tagged(0x04, sequence(TRUE)))
const namedAs = (name: string): Buffer => {
  const own =
    isIP(name) === 0 ? tagged(0x82, Buffer.from(name)) : tagged(0x87, Buffer.from(name.split('.').map(Number)))
  return sequence(identifier(0x55, 0x1d, 0x11), tagged(0x04, sequence(own)))
}
const nameOf = (text: string): Buffer => sequence(set(sequence(COMMON_NAME, tagged(0x0c, Buffer.from(text)))))

const pem = (label: string, der: Uint8Array): string => {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
