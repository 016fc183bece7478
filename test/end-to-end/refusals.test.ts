import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { makeToken } from '../../contract/token-format.ts'
import { addToken } from '../../db/tokens.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { LEAST } from './body-with.ts'
import type { OperationPath } from './interface-table.ts'

const OPERATIONS = Object.keys(LEAST) as OperationPath[]
const FOREVER = null

describe('requests that are turned away', () => {
  let service: Service
  let operatorToken: string
  before(async () => {
    service = await startService()
    operatorToken = await tokenWith({ scopes: ['operator'], workspace: null, expiresAt: FOREVER })
  })
  after(() => service?.stop())

  const tokenWith = async (about: Omit<Parameters<typeof addToken>[1], 'token'>): Promise<string> => {
    const token = makeToken()
    await addToken(service.sql, { token, ...about })
    return token
  }

  const assertError = (answer: Answer, status: number): void => {
    assert.equal(answer.status, status, answer.text)
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
    assert.deepEqual(Object.keys(answer.body), ['error'])
    assert.equal(typeof answer.body.error, 'string')
    assert.ok(answer.headers.get('x-request-id'))
  }

  describe('without a token that is valid', () => {
    const authorizations = (): Record<string, string | undefined> => ({
      'no header': undefined,
      'an empty header': '',
      'a token without a scheme': service.accessToken,
      'the scheme alone': 'Bearer',
      'another scheme': `Basic ${Buffer.from(`user:${service.accessToken}`).toString('base64')}`,
      'two tokens': `Bearer ${service.accessToken} ${service.accessToken}`,
      'an unknown token': `Bearer ${makeToken()}`,
      'an unknown token without our prefix': 'Bearer 0123456789abcdef0123456789abcdef',
      'a token with another checksum': `Bearer ${makeToken().slice(0, -1)}!`,
      'a token that is too long': `Bearer ${service.accessToken.repeat(10)}`,
      'a token in capitals': `Bearer ${service.accessToken.toUpperCase()}`,
    })

    for (const operation of OPERATIONS) {
      it(`${operation} answers 401`, async () => {
        for (const [what, authorization] of Object.entries(authorizations())) {
          const headers = { ...(authorization !== undefined && { Authorization: authorization }) }
          const answer = await service.post(operation, LEAST[operation]('x'), { token: null, headers })
          assert.equal(answer.status, 401, what)
          assertError(answer, 401)
          assert.equal(answer.headers.get('www-authenticate'), 'Bearer')
        }
      })
    }

    it('a token in the address is none', async () => {
      const path = `/feedbacks?access_token=${service.accessToken}&token=${service.accessToken}`
      assertError(await service.post(path, LEAST['/feedbacks']('x'), { token: null }), 401)
    })

    it('an expired token is none, one that expires later is', async () => {
      const minute = 60_000
      const common = { scopes: ['submit'] as const, workspace: 'default' }
      const expired = await tokenWith({ ...common, expiresAt: new Date(Date.now() - minute) })
      const lasting = await tokenWith({ ...common, expiresAt: new Date(Date.now() + minute) })
      assertError(await service.post('/feedbacks', LEAST['/feedbacks']('x'), { token: expired }), 401)
      assert.equal((await service.post('/feedbacks', LEAST['/feedbacks']('x'), { token: lasting })).status, 201)
    })

    it('the scheme may be written in any case', async () => {
      for (const scheme of ['bearer', 'BEARER']) {
        const headers = { Authorization: `${scheme} ${service.accessToken}` }
        const answer = await service.post('/feedbacks', LEAST['/feedbacks']('x'), { token: null, headers })
        assert.equal(answer.status, 201)
      }
    })
  })

  describe('without the permission', () => {
    it('purging answers 403 to a token that may only submit, whether there is such a contact or not', async () => {
      await service.submit('/contacts/identify', { id: 'exists' })
      const texts = await Promise.all(
        ['exists', 'does-not'].map(async (id) => {
          const answer = await service.post('/contacts/purge', { id })
          assertError(answer, 403)
          return answer.text
        }),
      )
      assert.equal(texts[0], texts[1])
    })

    it('an operator submits and purges nothing', async () => {
      for (const operation of OPERATIONS) {
        assertError(await service.post(operation, LEAST[operation]('x'), { token: operatorToken }), 403)
      }
    })

    it('an admin may submit as well', async () => {
      const answer = await service.post('/feedbacks', LEAST['/feedbacks']('x'), { token: service.adminToken })
      assert.equal(answer.status, 201)
    })
  })

  describe('with several things wrong at once', () => {
    const huge = `{"id": "${'x'.repeat(600 * 1024)}`
    const bodies: Record<string, { body: string; headers?: Record<string, string> }> = {
      'not JSON by its type': { body: '{}', headers: { 'Content-Type': 'text/plain' } },
      malformed: { body: '{' },
      'too large and malformed': { body: huge },
      invalid: { body: '{"id": 1}' },
    }

    for (const [what, { body, headers = {} }] of Object.entries(bodies)) {
      it(`the token comes before a body that is ${what}`, async () => {
        for (const operation of OPERATIONS) {
          assertError(await service.post(operation, body, { token: null, headers }), 401)
        }
      })
      it(`the permission comes before a body that is ${what}`, async () => {
        assertError(await service.post('/contacts/purge', body, { headers }), 403)
      })
    }

    it('the type comes before what is in the body, and so does the size', async () => {
      const token = service.adminToken
      for (const operation of OPERATIONS) {
        const headers = { 'Content-Type': 'text/plain' }
        assertError(await service.post(operation, '{', { token, headers }), 415)
        if (operation !== '/conversations') assertError(await service.post(operation, huge, { token }), 413)
      }
    })

    it('validation comes before the look for a contact', async () => {
      const answer = await service.post('/contacts/purge', { id: 'nobody', email: 5 }, { token: service.adminToken })
      assert.equal(answer.status, 400)
    })
  })

  describe('at paths and with methods that do not exist', () => {
    it('/ leads a browser to the reference, tells others the addresses, and takes GET alone', async () => {
      const get = (path: string, headers = {}) =>
        service.request(path, undefined, { method: 'GET', token: null, headers })
      const browser = await get('/', { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' })
      assert.deepEqual([browser.status, browser.headers.get('Location')], [302, '/docs'])
      const { status, body } = await get('/')
      assert.equal(status, 200)
      const { api, ...pages } = body as Record<string, string>
      assert.equal(api, '/api/v1')
      for (const path of Object.values(pages)) assert.equal((await get(path)).status, 200, path)
      assertError(await service.request('/', '{}', { token: null }), 405)
    })

    for (const path of [
      '/nope',
      '/api/v1',
      '/api/v1/nope',
      '/api/v2/feedbacks',
      '/api/v1/feedbacks/1',
      '/%',
      '/a%ffb',
    ]) {
      it(`${path} answers 404`, async () => {
        for (const method of ['GET', 'POST', 'DELETE']) {
          const body = method === 'GET' ? undefined : '{}'
          assertError(await service.request(path, body, { method, token: null }), 404)
        }
      })
    }

    for (const operation of OPERATIONS) {
      it(`${operation} takes POST alone`, async () => {
        for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
          const body = method === 'GET' ? undefined : '{}'
          const answer = await service.post(operation, body, { method })
          assertError(answer, 405)
          assert.equal(answer.headers.get('allow'), 'POST')
        }
      })
    }

    for (const path of ['/healthz', '/readyz', '/metrics']) {
      it(`${path} takes GET alone`, async () => {
        const answer = await service.request(path, '{}')
        assertError(answer, 405)
        assert.match(answer.headers.get('allow') ?? '', /\bGET\b/)
      })
    }
  })

  describe('and every other one: the id of the request', () => {
    const send = async (id: string | undefined, path = '/feedbacks'): Promise<string | null> => {
      const headers = { ...(id !== undefined && { 'X-Request-Id': id }) }
      const answer = await service.post(path, LEAST['/feedbacks']('x'), { headers })
      return answer.headers.get('x-request-id')
    }

    it('is the one that the caller sent', async () => {
      for (const id of ['a', 'trace-1.2:3_4', '0194f0a0-0000-7000-8000-000000000000']) {
        assert.equal(await send(id), id)
        assert.equal(await send(id, '/nope'), id)
      }
    })

    it('is a new one where the caller sent none, or one that is not sane', async () => {
      const ids = [await send(undefined), await send('x'.repeat(1_000)), await send('a b'), await send('<script>')]
      for (const id of ids) assert.match(id ?? '', /^[\w-]{16,64}$/)
      assert.equal(new Set(ids).size, ids.length)
    })
  })
})
