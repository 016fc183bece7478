import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { NOT_PUBLIC_ADDRESS } from '../../../runtime/public-address.ts'
import { post } from '../../../worker/webhooks/post.ts'

describe('a delivery', () => {
  it('goes to a host that is not public only if the host is allowed', async () => {
    const server = createServer((_, response) => response.writeHead(204).end())
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
    const url = new URL(`http://LOCALHOST:${(server.address() as AddressInfo).port}/`)
    const sent = { body: Buffer.from('{}'), headers: {}, stop: new AbortController().signal }
    try {
      assert.equal((await post(url, { ...sent, allowedHosts: ['localhost'] })).status, 204)
      await assert.rejects(post(url, { ...sent, allowedHosts: [] }), { code: NOT_PUBLIC_ADDRESS })
    } finally {
      server.close()
    }
  })
})
