import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { makeToken } from '../../contract/token-format.ts'
import { addToken, revokeToken, type Scope } from '../../db/tokens.ts'
import { createWorkspace } from '../../db/workspaces.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { LEAST } from './body-with.ts'
import type { OperationPath } from './interface-table.ts'

const KINDS = [
  'none',
  'malformed',
  'unknown',
  'revoked',
  'expired',
  // Of another workspace, with every scope that a workspace's token can have.
  'elsewhere',
  'submit',
  'admin',
  'operator',
] as const
type Kind = (typeof KINDS)[number]

const CONTACT = 'known-contact'
const SUBMISSION = ':known-submission'
const NOBODY = [401, 401, 401, 401, 401] as const

/** What each path answers to each kind of token, in the order of `KINDS`; the contact and the submission are of the workspace. */
const TABLE: Readonly<Record<string, readonly number[]>> = {
  'POST /api/v1/feedbacks': [...NOBODY, 201, 201, 201, 403],
  'POST /api/v1/contacts/identify': [...NOBODY, 201, 201, 201, 403],
  'POST /api/v1/accounts/identify': [...NOBODY, 201, 201, 201, 403],
  'POST /api/v1/conversations': [...NOBODY, 200, 200, 200, 403],
  'POST /api/v1/batch': [...NOBODY, 200, 200, 200, 403],
  'POST /api/v1/contacts/purge': [...NOBODY, 404, 403, 200, 403],
  [`GET /api/v1/submissions/${SUBMISSION}`]: [...NOBODY, 404, 200, 200, 403],
  'GET /metrics': [...NOBODY, 401, 401, 401, 200],
  'GET /admin/queues': [...NOBODY, 401, 401, 401, 200],
  'GET /admin/queues/': [...NOBODY, 401, 401, 401, 200],
  'GET /admin/queues/queue/feedback': [...NOBODY, 401, 401, 401, 200],
  'GET /admin/queues/api/queues': [...NOBODY, 401, 401, 401, 200],
  'GET /admin/queues/static/nothing.js': [...NOBODY, 401, 401, 401, 404],
  'PUT /admin/queues/api/queues/feedback/pause': [...NOBODY, 401, 401, 401, 405],
  'POST /admin/queues/api/queues/feedback/add': [...NOBODY, 401, 401, 401, 405],
  'GET /healthz': KINDS.map(() => 200),
  'GET /readyz': KINDS.map(() => 200),
  'GET /openapi.json': KINDS.map(() => 200),
  'GET /docs': KINDS.map(() => 200),
  'GET /docs/swagger-ui.css': KINDS.map(() => 200),
  'GET /nothing': KINDS.map(() => 404),
  'GET /api/v1/nothing': KINDS.map(() => 404),
  'GET /api/v1/feedbacks': KINDS.map(() => 405),
  'POST /metrics': KINDS.map(() => 405),
}

describe('who may do what', () => {
  let service: Service
  let submissionId: string
  let tokens: Readonly<Record<Kind, string | null>>

  before(async () => {
    service = await startService({ environment: { CONVERSATIONS_PER_MINUTE: '1000' } })
    const { sql } = service
    await createWorkspace(sql, 'other')
    const make = async (workspace: string | null, scopes: readonly Scope[], expiresAt: Date | null = null) => {
      const token = makeToken()
      const id = await addToken(sql, { token, workspace, scopes, expiresAt })
      return { token, id: id! }
    }
    const revoked = await make('default', ['submit', 'admin'])
    assert.equal(await revokeToken(sql, revoked.id), true)
    const known = await service.submit('/feedbacks', { description: 'x' })
    submissionId = known.headers.get('submission-id')!
    tokens = {
      none: null,
      malformed: 'fbi_ä',
      unknown: makeToken(),
      revoked: revoked.token,
      expired: (await make('default', ['submit', 'admin'], new Date(Date.now() - 1_000))).token,
      elsewhere: (await make('other', ['submit', 'admin'])).token,
      submit: (await make('default', ['submit'])).token,
      admin: (await make('default', ['admin'])).token,
      operator: (await make(null, ['operator'])).token,
    }
  })
  after(() => service?.stop())

  const ask = async (where: string, kind: Kind): Promise<Answer> => {
    const [method = '', path = ''] = where.split(' ')
    const operation = path.replace('/api/v1', '') as OperationPath
    const isPurge = operation === '/contacts/purge'
    const least = isPurge ? { id: CONTACT } : path.endsWith('/batch') ? { items: [] } : LEAST[operation]?.(kind)
    const token = tokens[kind]
    return service.request(path.replace(SUBMISSION, submissionId), method === 'GET' ? undefined : (least ?? {}), {
      method,
      token: null,
      // As bytes, since a token that is not ASCII is no header to `fetch`.
      headers: { ...(token !== null && { Authorization: `Bearer ${Buffer.from(token).toString('latin1')}` }) },
    })
  }

  for (const [where, expected] of Object.entries(TABLE)) {
    it(`${where} answers each kind of token with its status`, async () => {
      await service.submit('/contacts/identify', { id: CONTACT })
      for (const [index, kind] of KINDS.entries()) {
        const answer = await ask(where, kind)
        assert.equal(answer.status, expected[index], `${kind}: ${answer.text}`)
        if (answer.status < 400) continue
        assert.deepEqual(Object.keys(answer.body), ['error'], kind)
        assert.equal(answer.headers.has('www-authenticate'), answer.status === 401, kind)
      }
    })
  }

  it('nothing of the table tells an unknown token from one that was valid', async () => {
    for (const where of Object.keys(TABLE)) {
      const answers = await Promise.all((['unknown', 'revoked', 'expired'] as const).map((kind) => ask(where, kind)))
      // Pages and metrics that anybody may see differ by their time alone.
      if (answers[0]!.status !== 401) continue
      assert.equal(new Set(answers.map(({ text }) => text)).size, 1, where)
    }
  })

  it('everything that the document describes is in the table', async () => {
    const { body } = await service.request('/openapi.json', undefined, { method: 'GET', token: null })
    const described = Object.entries(body.paths as Record<string, { post?: unknown }>).map(
      ([path, { post }]) => `${post ? 'POST' : 'GET'} ${path.replace('{id}', SUBMISSION)}`,
    )
    assert.deepEqual(
      described.filter((where) => !Object.hasOwn(TABLE, where)),
      [],
    )
  })
})
