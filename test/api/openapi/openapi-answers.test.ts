import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Refusal, refusalResponse } from '../../../api/http/refusal.ts'
import { RESOURCES } from '../../../api/reads/reads.ts'
import type { JsonValue } from '../../../contract/json.ts'
import { answerOf, fits, operations, submissions } from './openapi-document.ts'

describe('the answers in the OpenAPI document', () => {
  it('have examples that fit their schemas', () => {
    let looked = 0
    for (const { operation, path } of operations) {
      for (const status of Object.keys(operation.responses)) {
        for (const { schema, examples = {}, example } of Object.values(answerOf(operation, Number(status)).content)) {
          const values = [
            ...Object.values(examples).map(({ value }) => value),
            ...(example === undefined ? [] : [example]),
          ]
          for (const value of values) assert.ok(fits(schema, value), `${path} ${status}: ${JSON.stringify(value)}`)
          looked += values.length
        }
      }
    }
    assert.ok(looked > 80)
  })

  const nameOf = ({ method, path }: { method: string; path: string }): string => `${method} ${path}`
  const SINGLE = submissions.map(({ path }) => `POST ${path}`)
  const BATCH = 'POST /batch'
  const POSTS = [...SINGLE, BATCH]
  const PURGES = 'POST /contacts/purge'
  const SUBMITTING = POSTS.filter((name) => name !== PURGES)
  const RECEIPTS = 'GET /submissions/{id}'
  const RECORDS = RESOURCES.map(({ path }) => `GET /${path}/{id}`)
  const CHANGES = 'GET /changes'
  const READS = [...RESOURCES.map(({ path }) => `GET /${path}`), ...RECORDS, CHANGES, 'GET /counts', 'GET /sources']
  const OF_THEMES = ['POST /themes', 'PATCH /themes/{id}']
  const EDITS = ['PATCH /feedbacks/{id}', ...OF_THEMES]
  const DELETES = 'DELETE /feedbacks/{id}'
  const CHANGING = [...EDITS, DELETES]
  const HOOK = ['GET /webhooks/{id}', 'DELETE /webhooks/{id}']
  const HOOKS = ['GET /webhooks', 'POST /webhooks']
  /** Settings that admins send as a body, and all that only admins may do besides purges. */
  const SETS = ['PUT /sources/{source}', 'POST /webhooks']
  const OF_ADMINS = ['PUT /sources/{source}', ...HOOKS, ...HOOK]
  /** The operations at paths that serve both submissions and reads. */
  const BOTH = ['/feedbacks', '/conversations', '/themes'].flatMap((path) => [`POST ${path}`, `GET ${path}`])
  const OF_ONE = ['PATCH /feedbacks/{id}', DELETES, 'GET /feedbacks/{id}']
  const OF_THEME = ['PATCH /themes/{id}', 'GET /themes/{id}']
  const METRICS = 'GET /metrics'
  const HEALTH = ['GET /healthz', 'GET /readyz']
  /** A malformed header `Host` is refused at any path. */
  const EVERYWHERE = operations.map(nameOf)
  /**
   * The type requires an entry for each refusal. `not-found` and `origin` belong to no operation.
   */
  const GIVEN_BY: {
    [R in Exclude<Refusal['refused'], 'not-found' | 'origin'>]: [Extract<Refusal, { refused: R }>, readonly string[]][]
  } = {
    unauthenticated: [
      [{ refused: 'unauthenticated' }, [...POSTS, ...CHANGING, ...OF_ADMINS, ...READS, RECEIPTS, METRICS]],
    ],
    forbidden: [
      [{ refused: 'forbidden', needs: 'submit' }, [...SUBMITTING, RECEIPTS]],
      [{ refused: 'forbidden', needs: 'admin' }, [PURGES, DELETES, ...OF_ADMINS]],
      [{ refused: 'forbidden', needs: 'edit' }, EDITS],
      [{ refused: 'forbidden', needs: 'read' }, READS],
    ],
    'not-json': [[{ refused: 'not-json' }, [...POSTS, ...EDITS, ...SETS]]],
    'too-large': [[{ refused: 'too-large', maxBytes: 1 }, [...POSTS, ...EDITS, ...SETS]]],
    'too-large-propagated': [[{ refused: 'too-large-propagated', maxBytes: 1 }, ['POST /conversations']]],
    'too-slow': [[{ refused: 'too-slow' }, [...POSTS, ...EDITS, ...SETS]]],
    invalid: [[{ refused: 'invalid', problems: [{ message: 'The body is required', path: '' }] }, EVERYWHERE]],
    'rate-limited': [
      [{ refused: 'rate-limited', most: 10, windowSeconds: 60, retryAfterSeconds: 6 }, [...SINGLE, ...CHANGING]],
    ],
    'no-such-contact': [[{ refused: 'no-such-contact' }, [PURGES]]],
    'no-such-submission': [[{ refused: 'no-such-submission' }, [RECEIPTS]]],
    'no-such-record': [[{ refused: 'no-such-record' }, [...RECORDS, ...CHANGING, ...HOOK]]],
    'position-expired': [[{ refused: 'position-expired' }, [CHANGES]]],
    'idempotency-key-of-other-body': [[{ refused: 'idempotency-key-of-other-body' }, [...SINGLE, ...CHANGING]]],
    'wrong-method': [
      [{ refused: 'wrong-method', allow: 'POST' }, POSTS.filter((name) => !BOTH.includes(name))],
      [{ refused: 'wrong-method', allow: 'GET, POST' }, [...BOTH, ...HOOKS]],
      [{ refused: 'wrong-method', allow: 'GET, DELETE' }, HOOK],
      [{ refused: 'wrong-method', allow: 'GET, PATCH, DELETE' }, OF_ONE],
      [{ refused: 'wrong-method', allow: 'GET, PATCH' }, OF_THEME],
      [{ refused: 'wrong-method', allow: 'PUT' }, ['PUT /sources/{source}']],
      [
        { refused: 'wrong-method', allow: 'GET' },
        [RECEIPTS, METRICS, ...HEALTH, ...READS.filter((name) => ![...BOTH, ...OF_ONE, ...OF_THEME].includes(name))],
      ],
    ],
    unavailable: [
      [{ refused: 'unavailable', why: 'postgres' }, [...POSTS, ...CHANGING, ...OF_ADMINS, ...READS, RECEIPTS, METRICS]],
    ],
    unforeseen: [[{ refused: 'unforeseen', requestId: 'x' }, EVERYWHERE]],
  }
  const UNDOCUMENTED_HEADERS = ['content-type', 'connection']

  const assertDocuments = async (name: string, response: Response): Promise<void> => {
    const found = operations.find((candidate) => nameOf(candidate) === name)
    assert.ok(found, name)
    const { headers, content } = answerOf(found.operation, response.status)
    const documented = Object.keys(headers).map((header) => header.toLowerCase())
    assert.ok(documented.includes('x-request-id'))
    for (const [header] of response.headers) {
      assert.ok(UNDOCUMENTED_HEADERS.includes(header) || documented.includes(header), `${name}: ${header}`)
    }
    assert.ok(fits(content['application/json']?.schema ?? null, (await response.json()) as JsonValue), name)
  }

  for (const [refused, cases] of Object.entries(GIVEN_BY)) {
    it(`include the refusal ${refused} wherever it occurs`, async () => {
      for (const [refusal, names] of cases) {
        for (const name of names) await assertDocuments(name, refusalResponse(refusal))
      }
    })
  }

  it('include no other refusals', () => {
    const statuses = (name: string): number[] => {
      const given = Object.values(GIVEN_BY).flatMap((cases) =>
        cases.flatMap(([refusal, names]) => (names.includes(name) ? [refusalResponse(refusal).status] : [])),
      )
      return [...new Set(given)].toSorted((one, other) => one - other)
    }
    for (const described of operations) {
      const { operation } = described
      const name = nameOf(described)
      const documented = Object.keys(operation.responses)
        .map(Number)
        .filter((status) => status >= 400)
      const unready = name === 'GET /readyz' ? [503] : []
      assert.deepEqual(documented, [...statuses(name), ...unready], name)
    }
  })

  it('have the status with which a submission is accepted, and its headers', () => {
    for (const { path, status, operation } of submissions) {
      const documented = Object.keys(operation.responses).filter((code) => code.startsWith('2'))
      assert.deepEqual(documented, [String(status)], path)
      assert.deepEqual(Object.keys(answerOf(operation, status).headers).toSorted(), [
        'Preference-Applied',
        'RateLimit',
        'RateLimit-Policy',
        'Submission-Id',
        'Submission-State',
        'X-Request-Id',
      ])
    }
  })

  it('have the header Preference-Applied if a permitted submission is refused', () => {
    const others = [401, 403, 405, 500]
    for (const { path, operation } of submissions) {
      const refused = Object.keys(operation.responses).map(Number)
      for (const status of refused.filter((code) => code >= 400 && !others.includes(code))) {
        assert.ok('Preference-Applied' in answerOf(operation, status).headers, `${path} ${status}`)
      }
    }
  })
})
