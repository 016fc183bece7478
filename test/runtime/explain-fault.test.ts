import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { explainPostgres, explainRedis } from '../../runtime/explain-fault.ts'
import { describeFault, isUnavailable } from '../../runtime/fault.ts'

const fault = (code: string, name = 'Error', more: object = {}): Error =>
  Object.assign(new Error('secret'), { name, code, ...more })
const refusal = (message: string): Error => Object.assign(new Error(`${message} secret`), { name: 'ReplyError' })

const OF_POSTGRES: readonly [Error, RegExp][] = [
  [
    fault('ENOTFOUND'),
    /^Postgres cannot be reached: the name of its host is not known here \(Error ENOTFOUND\)\. .*DATABASE_URL/,
  ],
  [fault('EAI_AGAIN'), /the name of its host is not known here/],
  [fault('ECONNREFUSED'), /nothing listens at its address .* DATABASE_URL/],
  [fault('CONNECT_TIMEOUT'), /it does not answer .*firewall/],
  [fault('DEPTH_ZERO_SELF_SIGNED_CERT'), /from an authority that is not trusted here .*NODE_EXTRA_CA_CERTS/],
  [fault('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), /NODE_EXTRA_CA_CERTS/],
  [fault('UNABLE_TO_GET_ISSUER_CERT_LOCALLY'), /NODE_EXTRA_CA_CERTS/],
  [fault('CERT_HAS_EXPIRED'), /its certificate has expired/],
  [fault('ERR_TLS_CERT_ALTNAME_INVALID'), /its certificate has another name than the host/],
  [
    fault('ERR_SSL_WRONG_VERSION_NUMBER'),
    /it does not speak TLS at this port .*port in DATABASE_URL, or remove TLS from DATABASE_URL\.$/,
  ],
  [fault('ECONNRESET'), /it ended the connection/],
  [fault('ENOENT', 'Error', { syscall: 'connect' }), /its socket is not there/],
  [fault('ENOENT', 'Error', { syscall: 'open' }), /^This failed with Error ENOENT/],
  [fault('28P01', 'PostgresError'), /^Postgres refuses: user or password is wrong/],
  [fault('28000', 'PostgresError'), /sslmode=require/],
  [fault('3D000', 'PostgresError'), /it has no such database/],
  [fault('53300', 'PostgresError'), /all its connections are in use/],
  [fault('08P01', 'PostgresError'), /DATABASE_POOLER=transaction/],
  [fault('22009', 'PostgresError'), /^Postgres failed with PostgresError 22009\. Look in its log\.$/],
  [new TypeError('secret'), /^This failed with TypeError\./],
]

const OF_REDIS: readonly [Error, RegExp][] = [
  [fault('ENOTFOUND'), /^Redis cannot be reached: the name of its host is not known here .*REDIS_URL/],
  [refusal('WRONGPASS'), /^Redis refuses: user or password is wrong \(ReplyError WRONGPASS\)/],
  [refusal('NOPERM'), /the user may not do this/],
  [refusal('MISCONF'), /it takes no writes, since it cannot write to its disk .*save ""/],
  [refusal('ERR'), /^Redis failed with ReplyError ERR\./],
]

describe('a fault of a server has an explanation and a remedy, which do not quote its message:', () => {
  for (const [server, explain, cases] of [
    ['Postgres', explainPostgres, OF_POSTGRES],
    ['Redis', explainRedis, OF_REDIS],
  ] as const) {
    for (const [error, says] of cases) {
      const call = 'syscall' in error ? ` of ${String(error.syscall)}` : ''
      it(`${server}: ${describeFault(error)}${call}`, () => {
        const { what, remedy } = explain(error)
        assert.match(`${what} ${remedy}`, says)
        assert.doesNotMatch(`${what} ${remedy}`, /secret/)
      })
    }
  }
})

it('a server that cannot be reached counts as away, and a missing file does not', () => {
  const ofConnection = { syscall: 'connect' }
  for (const code of ['ENOENT', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'])
    assert.ok(isUnavailable(fault(code, 'Error', ofConnection)), code)
  for (const code of ['ENOTFOUND', 'EAI_AGAIN'])
    assert.ok(isUnavailable(fault(code, 'DNSException', { syscall: 'getaddrinfo' })), code)
  assert.ok(!isUnavailable(fault('ENOENT', 'Error', { syscall: 'open' })))
})
