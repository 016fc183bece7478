import { Buffer } from 'node:buffer'
import * as fc from 'fast-check'
import type { operations } from '../../api/openapi/openapi-document.ts'

export type Operation = (typeof operations)[number]
export type Tokens = { readonly access: string; readonly admin: string; readonly operator: string }

/** Gives the other value about once in `weight` + 1 times. */
export const or = <T>(weight: number, usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: other })

const bearer = (token: string): string => `Bearer ${token}`
const authorizations = (tokens: Tokens, { path, method }: Operation): fc.Arbitrary<string | undefined> => {
  const { access, admin, operator } = tokens
  const fitting = path.endsWith('/purge') ? [admin] : method === 'GET' ? [access, admin, operator] : [access, admin]
  const basic = `Basic ${Buffer.from(`x:${admin}`).toString('base64')}`
  return or<string | undefined>(
    25,
    or(30, fc.constantFrom(...fitting), fc.constantFrom(access, admin, operator)).map(bearer),
    fc.oneof(
      fc.constantFrom(undefined, '', 'Bearer', `bearer  ${access}`, bearer(`${access}x`), bearer('a, b'), basic),
      fc.string({ unit: fc.constantFrom('a', 'Z', '0', ' ', ',', ';', '=', '.', '"', '\\', '\u00ff'), maxLength: 40 }),
    ),
  )
}

const TYPES = [
  ['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;charset="utf-8"', 'application/json;;'],
  ['text/plain', 'application/json; charset=utf-16', 'application/x-www-form-urlencoded', '', '*/*'],
  ['multipart/form-data; boundary=x', 'application/json, text/plain'],
].flat()
const latin1 = fc.string({
  unit: fc
    .integer({ min: 0x21, max: 0xff })
    .filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 60,
})

/** Each of these headers is in about one request of twelve. */
const EXTRA: readonly (readonly [name: string, values: fc.Arbitrary<string>])[] = [
  [
    'Idempotency-Key',
    fc.oneof(fc.nat({ max: 3_000 }).map(String), fc.constantFrom('a b', '', 'x'.repeat(256)), latin1),
  ],
  ['Prefer', fc.oneof(fc.constantFrom('wait=0', 'wait=1', 'WAIT = "0"', 'wait=-1', 'respond-async, wait=0'), latin1)],
  ...['X-Request-Id', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'Forwarded', 'Cookie'].map(
    (name) => [name, latin1] as const,
  ),
  ['Accept', fc.constantFrom('text/html', 'application/xml;q=1', '*/*;q=0', '')],
  ['Expect', fc.constant('100-continue')],
  ['Origin', fc.constantFrom('null', 'https://example.com', 'x')],
  ['X-HTTP-Method-Override', fc.constantFrom('DELETE', 'GET')],
  ['Range', fc.constantFrom('bytes=0-0', 'bytes=-1', 'x')],
  ['If-None-Match', fc.constant('*')],
  ['Connection', fc.constantFrom('close', 'keep-alive', 'TE')],
  ['Access-Control-Request-Method', fc.constantFrom('POST', 'x')],
  ['X-Long', fc.constant('x'.repeat(4_000))],
]
const HOSTS = ['127.0.0.1', 'x', 'a b', '[', '[::1]:3', 'x:99999', '%', '..', '<>', 'x:', '*']

/** Mostly good headers for an operation, mixed with headers of proxies, browsers and attackers. */
export const headersOf = (tokens: Tokens, operation: Operation) =>
  fc
    .record({
      host: or(30, fc.constant('127.0.0.1'), fc.constantFrom(...HOSTS)),
      authorization: authorizations(tokens, operation),
      type: or<string | undefined>(30, fc.constant('application/json'), fc.constantFrom(undefined, ...TYPES)),
      extra: fc.tuple(
        ...EXTRA.map(([name, values]) => or(11, fc.constant(''), values).map((value) => [name, value] as const)),
      ),
    })
    .map(({ host, authorization, type, extra }) => [
      ['Host', host] as const,
      ...(authorization === undefined ? [] : [['Authorization', authorization] as const]),
      ...(type === undefined ? [] : [['Content-Type', type] as const]),
      ...extra.filter(([, value]) => value !== ''),
    ])
