import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import process from 'node:process'
import { before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { JsonValue } from '../../../contract/json.ts'
import { makeToken } from '../../../contract/token-format.ts'
import { readLedgers } from '../../support/ledgers.ts'
import { addToken } from '../../../db/tokens.ts'
import { answerOf, fits, operations } from '../../api/openapi/openapi-document.ts'
import { ownWorkspace } from '../../support/own-workspace.ts'
import { seeded } from '../../support/property-seed.ts'
import { type RawAnswer, RawConnection } from '../../support/raw-connection.ts'
import type { Service } from '../../support/service.ts'
import { workingService } from '../../support/shared-service.ts'
import { GUARD_MS, until } from '../../support/until.ts'
import { bytesOf, type FuzzRequest, fuzzRequests } from './fuzz-requests.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? (LONG ? 1_000_000 : 800))
/** After this many requests the test drains the queue, so that the queue stays small. */
const ROUND = 20_000
const LANES = LONG ? 16 : 8
/**
 * How often a request is sent at most. On a busy machine a look-up in Postgres can take too long.
 * The service then answers 503 and accepts nothing, so the request can be sent again.
 */
const TRIES = 5
/** Several workspaces, since all submissions of a workspace wait for its purges. */
const WORKSPACES = 8
const SEEDS_BELOW = 2 ** 30

describe('any requests', () => {
  let service: Service
  const workspaceIds = new Set<string>()
  const ofWorkspaces: fc.Arbitrary<FuzzRequest>[] = []
  const accepted = new Set<string>()
  const statuses = new Map<string, number>()
  before(async () => {
    service = await workingService()
    const operator = makeToken()
    await addToken(service.sql, { token: operator, workspace: null, scopes: ['operator'], expiresAt: null })
    for (let count = 0; count < WORKSPACES; count++) {
      const { workspaceId, accessToken: access, adminToken: admin, submit } = await ownWorkspace(service)
      workspaceIds.add(workspaceId)
      const known = await submit('/feedbacks', { description: 'x' })
      const submissionId = known.headers.get('submission-id')!
      accepted.add(submissionId)
      ofWorkspaces.push(fuzzRequests({ access, admin, operator }, submissionId))
    }
  })

  const assertAnswered = async (connection: RawConnection, request: FuzzRequest): Promise<void> => {
    const hasBody = request.method !== 'HEAD'
    const send = () => connection.send(bytesOf(request), { hasBody, timeoutMs: GUARD_MS })
    let answer = await send()
    for (let tries = 1; tries < TRIES && isLate(answer); tries++) answer = await send()
    const where = request.path ?? 'elsewhere'
    statuses.set(`${where} ${answer.status}`, (statuses.get(`${where} ${answer.status}`) ?? 0) + 1)
    assertAnswer(request, answer)
    const id = answer.headers.get('submission-id')
    if (id !== undefined) accepted.add(id)
  }

  /** Each lane sends one request after the other, so that a failure shrinks to a single request. */
  const sendAll = async (count: number, seed: number): Promise<void> => {
    const lanes = Array.from({ length: LANES }, async (_, lane) => {
      const connection = new RawConnection(service.urls[0]!)
      const property = fc.asyncProperty(ofWorkspaces[lane % WORKSPACES]!, (request) =>
        assertAnswered(connection, request),
      )
      await fc
        .assert(property, { seed: seed + lane, numRuns: Math.ceil(count / LANES) })
        .finally(() => connection.close())
    })
    for (const lane of await Promise.allSettled(lanes)) if (lane.status === 'rejected') throw lane.reason
  }

  const assertNothingLostOrDead = async (): Promise<void> => {
    const ledgers = await until('all submissions are processed', async () => {
      const all = await readLedgers(service.sql, service.redis, service.redisPrefix)
      const found = all.filter(({ workspaceId }) => workspaceIds.has(workspaceId))
      return found.every(({ queued }) => queued === 0) ? found : undefined
    })
    const dead = await service.sql`
      select operation, error, count(*)::int from submission
      where state = 'dead' and workspace_id = any (${[...workspaceIds]}) group by operation, error`
    assert.deepEqual([...dead], [])
    for (const { dead: died, difference } of ledgers) assert.deepEqual({ died, difference }, { died: 0, difference: 0 })
    assert.equal(
      ledgers.reduce((total, ledger) => total + ledger.accepted, 0),
      accepted.size,
    )
  }

  it(`get documented answers, and no accepted submission is lost or dead: ${REQUESTS} requests`, async () => {
    const { seed = randomInt(SEEDS_BELOW) } = seeded()
    for (let sent = 0; sent < REQUESTS; sent += ROUND) {
      await sendAll(Math.min(ROUND, REQUESTS - sent), seed + sent)
      await assertNothingLostOrDead()
    }
    console.log(`${REQUESTS} requests, ${accepted.size} accepted, FC_SEED=${seed}`)
    console.log(
      JSON.stringify(Object.fromEntries([...statuses].toSorted(([one], [other]) => one.localeCompare(other)))),
    )
    // With few accepted requests, the test would prove little.
    assert.ok(accepted.size > REQUESTS / 5, String(accepted.size))
  })
})

const isLate = ({ status, body }: RawAnswer): boolean =>
  status === 503 && /did not answer in time/.test(body.toString('utf8'))

const assertAnswer = ({ path, moreStatuses, method, target }: FuzzRequest, answer: RawAnswer): void => {
  const { status, headers } = answer
  const ofPath = operations.filter((one) => one.path === path)
  const operation = ofPath.find((one) => one.method === method) ?? ofPath[0]
  const text = answer.body.toString('utf8')
  const documented = [...moreStatuses, ...Object.keys(operation?.operation.responses ?? {}).map(Number)]
  assert.ok(status < 500 && documented.includes(status), `${method} ${target} answered ${status}: ${text}`)
  assert.ok(headers.get('x-request-id'))
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
  assert.equal(headers.get('server'), undefined)
  if (method === 'HEAD' || status === 302) return
  if (target.startsWith('/metrics') && status === 200) return
  if (target.startsWith('/admin/queues') && status === 200) return
  assert.match(headers.get('content-type') ?? '', /^application\/json/, `${method} ${target}`)
  const body = JSON.parse(text) as JsonValue
  if (operation === undefined || status === 405) return
  const { content } = answerOf(operation.operation, status)
  assert.ok(fits(content['application/json']!.schema, body), `${method} ${target} answered ${status}: ${text}`)
}
