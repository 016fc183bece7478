import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe, it } from 'node:test'
import { RESOURCES } from '../../api/reads/reads.ts'
import { createAuthenticate } from '../../api/authenticate.ts'
import type { Receipt } from '../../contract/receipt.ts'
import { makeToken } from '../../contract/token-format.ts'
import { addToken, findTokenHolders, revokeToken, type Scope } from '../../db/tokens.ts'
import { createWorkspace, DEFAULT_WORKSPACE } from '../../db/workspaces/workspaces.ts'
import { SHORT_BODY } from '../end-to-end/body-with.ts'
import type { OperationPath } from '../end-to-end/interface-table.ts'
import { appWithoutStores, emptyReads, SUBMISSION } from '../support/app-without-stores.ts'
import { sharedSchema } from '../support/schema.ts'
import { operations } from './openapi/openapi-document.ts'

const { sql } = await sharedSchema()

const INVALID = ['none', 'malformed', 'unknown', 'revoked', 'expired'] as const
/** `elsewhere`: a token for submissions, reads and purges in another workspace. */
const KINDS = [...INVALID, 'elsewhere', 'submit', 'admin', 'operator', 'read', 'edit'] as const
type Kind = (typeof KINDS)[number]

/** The statuses for all kinds: 401 for invalid tokens. */
const known = (...[elsewhere, submit, admin, operator, read, edit = read]: Statuses) => [
  ...INVALID.map(() => 401),
  elsewhere,
  submit,
  admin,
  operator,
  read,
  edit,
]
/** A token that may correct has the same status as a token that may read, unless it is given. */
type Statuses = [elsewhere: number, submit: number, admin: number, operator: number, read: number, edit?: number]
const FOR_OPERATORS = known(401, 401, 401, 200, 401)
const FOR_READERS = known(200, 403, 200, 403, 200)
const NO_RECORD = known(404, 403, 404, 403, 404)
const RECEIPT = `GET /api/v1/submissions/${SUBMISSION}`

/**
 * The status of each path for each kind of token, in the order of `KINDS`. The contact and the
 * submission belong to the workspace `default`. The pages of operators answer every method here.
 */
const TABLE: Readonly<Record<string, readonly number[]>> = {
  'POST /api/v1/feedbacks': known(201, 201, 201, 403, 403),
  'POST /api/v1/contacts/identify': known(201, 201, 201, 403, 403),
  'POST /api/v1/accounts/identify': known(201, 201, 201, 403, 403),
  'POST /api/v1/conversations': known(200, 200, 200, 403, 403),
  'POST /api/v1/batch': known(200, 200, 200, 403, 403),
  [`PATCH /api/v1/feedbacks/${SUBMISSION}`]: known(404, 403, 200, 403, 403, 200),
  [`DELETE /api/v1/feedbacks/${SUBMISSION}`]: known(404, 403, 200, 403, 403, 403),
  // The body has no feedback that exists.
  'POST /api/v1/themes': known(400, 403, 400, 403, 403, 400),
  [`PATCH /api/v1/themes/${SUBMISSION}`]: known(400, 403, 400, 403, 403, 400),
  'POST /api/v1/contacts/purge': known(404, 403, 200, 403, 403),
  [RECEIPT]: known(404, 200, 200, 403, 403),
  'GET /metrics': FOR_OPERATORS,
  'GET /admin': FOR_OPERATORS,
  'GET /admin/overview.js': FOR_OPERATORS,
  'GET /admin/queues': FOR_OPERATORS,
  'GET /admin/queues/': FOR_OPERATORS,
  'GET /admin/queues/api/queues': FOR_OPERATORS,
  'PUT /admin/queues/api/queues/wake/pause': FOR_OPERATORS,
  'GET /healthz': KINDS.map(() => 200),
  'GET /readyz': KINDS.map(() => 200),
  'GET /openapi.json': KINDS.map(() => 200),
  'GET /docs': KINDS.map(() => 200),
  'GET /docs/swagger-ui.css': KINDS.map(() => 200),
  'GET /nothing': KINDS.map(() => 404),
  'GET /api/v1/nothing': KINDS.map(() => 404),
  ...Object.fromEntries(
    RESOURCES.flatMap(({ path }) => [
      [`GET /api/v1/${path}`, FOR_READERS],
      [`GET /api/v1/${path}/${SUBMISSION}`, NO_RECORD],
    ]),
  ),
  'GET /api/v1/changes': FOR_READERS,
  'GET /api/v1/counts?by=tag': FOR_READERS,
  'GET /api/v1/sources': FOR_READERS,
  'PUT /api/v1/sources/Shop': known(200, 403, 200, 403, 403),
  'GET /api/v1/webhooks': known(200, 403, 200, 403, 403),
  // The body has no address.
  'POST /api/v1/webhooks': known(400, 403, 400, 403, 403),
  [`GET /api/v1/webhooks/${SUBMISSION}`]: known(404, 403, 404, 403, 403),
  [`DELETE /api/v1/webhooks/${SUBMISSION}`]: known(404, 403, 404, 403, 403),
  'PUT /api/v1/feedbacks': KINDS.map(() => 405),
  'POST /metrics': KINDS.map(() => 405),
}

describe('the permissions of tokens', () => {
  let handle: ReturnType<typeof appWithoutStores>['handle']
  let tokens: Readonly<Record<Kind, string | null>>
  before(async () => {
    const other = randomUUID()
    await createWorkspace(sql, other)
    const [own] = await sql<{ id: string }[]>`select id from workspace where name = ${DEFAULT_WORKSPACE}`
    const make = async (workspace: string | null, scopes: readonly Scope[], expiresAt: Date | null = null) => {
      const token = makeToken()
      const id = await addToken(sql, { token, workspace, scopes, expiresAt })
      return { token, id: id! }
    }
    const revoked = await make(DEFAULT_WORKSPACE, ['submit', 'admin'])
    assert.equal(await revokeToken(sql, revoked.id), true)
    tokens = {
      none: null,
      malformed: 'fbi_ä',
      unknown: makeToken(),
      revoked: revoked.token,
      expired: (await make(DEFAULT_WORKSPACE, ['submit', 'admin'], new Date(Date.now() - 1_000))).token,
      elsewhere: (await make(other, ['submit', 'admin'])).token,
      submit: (await make(DEFAULT_WORKSPACE, ['submit'], new Date(Date.now() + 3_600_000))).token,
      admin: (await make(DEFAULT_WORKSPACE, ['admin'])).token,
      operator: (await make(null, ['operator'])).token,
      read: (await make(DEFAULT_WORKSPACE, ['read'])).token,
      edit: (await make(DEFAULT_WORKSPACE, ['read', 'edit'])).token,
    }
    const clocks = { now: Date.now, steadily: () => performance.now() }
    const authenticate = createAuthenticate((hashes) => findTokenHolders(sql, hashes), clocks)
    const findStored = async (workspaceId: string, id: string) =>
      workspaceId === own!.id && id === SUBMISSION ? ({ id } as Receipt) : undefined
    const page = async (): Promise<Response> => new Response('')
    const isOwn = async (workspaceId: string): Promise<boolean> => workspaceId === own!.id
    const app = appWithoutStores({
      intake: { authenticate, canPurgeMatch: isOwn, hasFeedback: isOwn },
      reads: { ...emptyReads, authenticate },
      receipts: { authenticate, findStored, findQueued: async () => undefined, onFault: () => {} },
      board: page,
      overview: page,
      metrics: async () => new Response(''),
    })
    handle = app.handle
  })

  const ask = async (where: string, kind: Kind): Promise<{ status: number; headers: Headers; text: string }> => {
    const [method = '', path = ''] = where.split(' ')
    const given = SHORT_BODY[path.replace('/api/v1', '') as OperationPath]?.('x') ?? { items: [], rating: 1 }
    const token = tokens[kind]
    const headers = {
      'Content-Type': 'application/json',
      // In UTF-8, as a client sends it.
      ...(token !== null && { Authorization: `Bearer ${Buffer.from(token).toString('latin1')}` }),
    }
    const body = method === 'GET' || method === 'DELETE' ? undefined : JSON.stringify(given)
    const response = await handle(new Request(`http://x${path}`, { method, headers, ...(body && { body }) }))
    return { status: response.status, headers: response.headers, text: await response.text() }
  }

  for (const [where, expected] of Object.entries(TABLE)) {
    it(`at ${where} give each kind of token its status, and do not say why a token is invalid`, async () => {
      const unauthenticated = new Set<string>()
      for (const [index, kind] of KINDS.entries()) {
        const { status, headers, text } = await ask(where, kind)
        assert.equal(status, expected[index], `${kind}: ${text}`)
        if (status < 400) continue
        assert.deepEqual(Object.keys(JSON.parse(text) as object), ['error'], kind)
        assert.equal(headers.has('www-authenticate'), status === 401, kind)
        if (status === 401) unauthenticated.add(text)
      }
      assert.ok(unauthenticated.size <= 1)
    })
  }

  it('are listed here for all operations of the document', () => {
    const described = operations.map(
      ({ method, at }) =>
        `${method} ${at.replace('{id}', SUBMISSION).replace('{source}', 'Shop').replace('v1/counts', 'v1/counts?by=tag')}`,
    )
    assert.deepEqual(
      described.filter((where) => !Object.hasOwn(TABLE, where)),
      [],
    )
  })
})
