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
})
