import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isPublicAddress, NOT_PUBLIC_ADDRESS, publicLookup, refuseAddress } from '../../runtime/public-address.ts'

const PUBLIC = `8.8.8.8 172.15.255.255 172.32.0.1 100.128.0.1 2606:4700::1111 2A00:1450::1 2001:4860::8888`.split(/\s+/)
const NOT_PUBLIC = `0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255
  192.168.1.1 198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 0:0:0:0:0:0:0:1 ::ffff:127.0.0.1
  ::ffff:8.8.8.8 ::FFFF:7F00:1 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b:1::7f00:1 2002:7f00:1:: 2001::1
  2001:db8::1 fc00::1 fd12:3456::1 fe80::1 fe80::1%lo fe80::1%25lo ff02::1
  192.0.0.1 192.0.2.1 192.88.99.1 198.51.100.1 203.0.113.1 240.0.0.1 3fff::1 2001:1ff::1 100::1
  400::1 4000::1 e000::1 1.2.3 localhost`.split(/\s+/)
/** Addresses of webhooks whose hosts are not public, also in unusual forms that `new URL` accepts. */
const HOSTS_NOT_PUBLIC = `http://127.0.0.1/ http://2130706433/ http://0x7f000001/ http://0x7f.1/ http://0177.0.0.1/
  http://127.1/ http://0/ http://127.0.0.1./ http://0x7f000001./ http://127.0.0.1:8080/
  http://user:secret@127.0.0.1/ http://example.org@127.0.0.1/ http://%31%32%37.0.0.1/
  http://１２７.０.０.１/ http://[::1]/ http://[::]/ http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/
  http://[0:0:0:0:0:ffff:10.0.0.1]/ http://[fd00::1]/ http://[64:ff9b::10.0.0.1]/`.split(/\s+/)

describe('addresses of the public internet', () => {
  it('differ from private, reserved and malformed addresses', () => {
    for (const address of PUBLIC) assert.ok(isPublicAddress(address), address)
    for (const address of ['', ...NOT_PUBLIC]) assert.ok(!isPublicAddress(address), address)
  })

  it('include no private address in an unusual form; a private address can be allowed', () => {
    for (const url of HOSTS_NOT_PUBLIC) {
      const { hostname } = new URL(url)
      const refused = refuseAddress(hostname, [])
      assert.equal(refused?.code, NOT_PUBLIC_ADDRESS, `${url} is ${hostname}`)
    }
    for (const url of ['http://8.8.8.8/', 'http://[2606:4700::1111]/', 'http://example.org/', 'http://LOCALHOST/'])
      assert.equal(refuseAddress(new URL(url).hostname, []), undefined, 'a name is checked when it is resolved')
    assert.equal(refuseAddress('[::1]', ['::1']), undefined)
    assert.equal(refuseAddress('127.0.0.1', ['127.0.0.1']), undefined)
    assert.equal(refuseAddress('127.0.0.2', ['127.0.0.1', 'localhost'])?.code, NOT_PUBLIC_ADDRESS)
    assert.throws(() => new URL('http://[fe80::1%25lo]/'), 'an address of a webhook has no zone')
  })

  type Found = { code: string | undefined; addresses: readonly string[] }
  const lookUp = (hostname: string, allowed: readonly string[], addresses: readonly string[] = ['127.0.0.1']) =>
    new Promise<Found>((resolve) => {
      const resolver: Parameters<typeof publicLookup>[1] = (_, __, callback) =>
        callback(
          null,
          addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        )
      publicLookup(allowed, resolver)(hostname, { all: true }, (error, found) =>
        resolve({
          code: error?.code,
          addresses: [found].flat().map((each) => (typeof each === 'string' ? each : each.address)),
        }),
      )
    })
  const REFUSED = { code: NOT_PUBLIC_ADDRESS, addresses: [] }

  it('are the only targets of a name that is not on the list of allowed hosts', async () => {
    assert.deepEqual(await lookUp('example.org', [], ['8.8.8.8', '2606:4700::1111']), {
      code: undefined,
      addresses: ['8.8.8.8', '2606:4700::1111'],
    })
    for (const addresses of [
      ['127.0.0.1'],
      ['8.8.8.8', '10.0.0.1'],
      ['8.8.8.8', '::ffff:10.0.0.1'],
      ['::1', '8.8.8.8'],
      [],
    ])
      assert.deepEqual(await lookUp('example.org', ['example.com', 'org'], addresses), REFUSED, addresses.join())
  })

  it('are not required for a host that is allowed by its whole name', async () => {
    assert.deepEqual(await lookUp('internal.example', ['internal.example']), {
      code: undefined,
      addresses: ['127.0.0.1'],
    })
    for (const hostname of ['other.internal.example', 'internal.example.org', 'xinternal.example', 'internal.example.'])
      assert.deepEqual(await lookUp(hostname, ['internal.example']), REFUSED, hostname)
  })
})
