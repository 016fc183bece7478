import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { after, before, describe, it } from 'node:test'
import { makeToken } from '../../contract/token-format.ts'
import { addToken } from '../../db/tokens.ts'
import { createWorkspace } from '../../db/workspaces.ts'
import { type RawAnswer, RawConnection } from '../support/raw-connection.ts'
import { type Service, startService } from '../support/service.ts'
import { LEAST } from './body-with.ts'

const TOKENS = 10
const POLICY = `"submit_conversation";q=${TOKENS};w=60`
const ANSWERED_WITHIN_MS = 20_000
/** Less than the time in which a body has to arrive. */
const NOT_ANSWERED_WITHIN_MS = 2_000

describe('a limit that is known to be used up', () => {
  let service: Service
  before(async () => {
    service = await startService({ workers: 0 })
    for (let sent = 0; sent < TOKENS; sent++) await service.post('/conversations', LEAST['/conversations'](`c${sent}`))
  })
  after(() => service?.stop())

  const announce = async (bytes: number, more = '', timeoutMs = ANSWERED_WITHIN_MS): Promise<RawAnswer> => {
    const connection = new RawConnection(service.urls[0]!)
    const head =
      `POST /api/v1/conversations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.accessToken}\r\n` +
      `Content-Type: application/json\r\n${more}Content-Length: ${bytes}\r\n\r\n`
    try {
      return await connection.send(Buffer.from(head), { hasBody: true, timeoutMs })
    } finally {
      connection.close()
    }
  }

  it('is told before a body is read, with all that is told after it', async () => {
    const answer = await announce(4_000_000)
    assert.equal(answer.status, 429)
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d?$/)
    assert.equal(answer.headers.get('ratelimit-policy'), POLICY)
    assert.match(answer.headers.get('ratelimit') ?? '', /^"submit_conversation";r=0;t=[1-9]\d?$/)
  })

  it('is not told before a body is read that may come for the second time', async () => {
    await assert.rejects(announce(4_000_000, 'Idempotency-Key: first\r\n', NOT_ANSWERED_WITHIN_MS), /no answer within/)
  })

  it('is told of one workspace and one operation', async () => {
    assert.equal((await service.post('/feedbacks', LEAST['/feedbacks']('x'))).status, 201)
    await createWorkspace(service.sql, 'another')
    const token = makeToken()
    await addToken(service.sql, { token, workspace: 'another', scopes: ['submit'], expiresAt: null })
    assert.equal((await service.post('/conversations', LEAST['/conversations']('x'), { token })).status, 200)
  })
})
