import { Buffer } from 'node:buffer'
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** In PEM. */
export type Certificates = {
  /** Of whoever signed the certificate; nobody trusts it unless told to. */
  readonly authority: string
  readonly certificate: string
  readonly key: string
}

const DAY_MS = 24 * 60 * 60 * 1_000

/**
 * A certificate that is valid today for `localhost` and no other name, by an authority of its own. Written out in DER (RFC 5280),
 * since node:crypto makes none and `openssl` is not on every machine.
 */
export const makeCertificates = (): Certificates => {
  const [authority, server] = [makeKeys(), makeKeys()]
  const common = { signer: authority.privateKey, issuer: 'Test authority' }
  return {
    authority: issue({ ...common, subject: common.issuer, publicKey: authority.publicKey, extension: MAY_SIGN }),
    certificate: issue({ ...common, subject: 'localhost', publicKey: server.publicKey, extension: forLocalhost() }),
    key: pem('PRIVATE KEY', server.privateKey.export({ type: 'pkcs8', format: 'der' })),
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
/** YYMMDDhhmmssZ */
const time = (at: number): Buffer =>
  tagged(0x17, Buffer.from(`${new Date(at).toISOString().slice(2, 19).replaceAll(/[-T:]/g, '')}Z`))

const COMMON_NAME = identifier(0x55, 0x04, 0x03)
const ECDSA_WITH_SHA256 = sequence(identifier(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
const TRUE = tagged(0x01, Buffer.from([0xff]))
const MAY_SIGN = sequence(identifier(0x55, 0x1d, 0x13), TRUE, tagged(0x04, sequence(TRUE)))
const forLocalhost = (): Buffer => {
  const names = sequence(tagged(0x82, Buffer.from('localhost')))
  return sequence(identifier(0x55, 0x1d, 0x11), tagged(0x04, names))
}
const nameOf = (text: string): Buffer => sequence(set(sequence(COMMON_NAME, tagged(0x0c, Buffer.from(text)))))

const pem = (label: string, der: Uint8Array): string => {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
