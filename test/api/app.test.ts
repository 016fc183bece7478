import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { appWithoutStores } from './app-without-stores.ts'

describe('the routes', () => {
  it('are found whatever the host is called, however short its name', async () => {
    for (const host of ['x', 'api', 'localhost:3000', 'feedback.example.com']) {
      const response = await appWithoutStores().handle(new Request(`http://${host}/healthz`))
      assert.equal(response.status, 200, host)
    }
  })

  it('are not found by what is put into the header Host', async () => {
    for (const host of ['x/healthz?', 'x#', 'x?y', 'a b', '[', 'x:99999', 'x:abc', 'user@x', '%', '<>', '\\', '']) {
      // As the runtimes make it from the header, without looking.
      const request = new Proxy(new Request('http://x/nothing', { headers: { Host: host } }), {
        get: (target, key): unknown => (key === 'url' ? `http://${host}/nothing` : Reflect.get(target, key, target)),
      })
      const response = await appWithoutStores().handle(request)
      assert.equal(response.status, 400, host)
      assert.deepEqual((await response.json()).error[0].path, 'Host')
    }
  })
})
