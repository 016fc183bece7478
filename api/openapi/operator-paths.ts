import type { JsonObject } from '../../contract/json.ts'
import { headersOf } from './headers.ts'
import { successAnswer } from './paths.ts'
import { refusalsOf } from './refusals.ts'

const operatorPath = (operation: JsonObject): JsonObject => ({ get: { tags: ['Operators'], ...operation } })

/** Paths outside the base path. */
export const PATHS_OUTSIDE: JsonObject = {
  '/healthz': operatorPath({
    operationId: 'getHealth',
    summary: 'Whether the process runs',
    description: 'Does not depend on Redis or Postgres: a process that cannot reach them still runs.',
    security: [],
    responses: {
      200: successAnswer({ schema: 'Alive', description: 'The process runs.' }),
      ...refusalsOf(['Invalid', 'OnlyGet', 'Unforeseen']),
    },
  }),
  '/readyz': operatorPath({
    operationId: 'getReadiness',
    summary: 'Whether requests can be served',
    description: 'Asks Redis and Postgres. A load balancer should send requests to processes that answer 200.',
    security: [],
    responses: {
      200: successAnswer({ schema: 'Ready', description: 'The process can serve requests.' }),
      ...refusalsOf(['Invalid', 'OnlyGet', 'Unforeseen']),
      503: {
        description: 'Redis or Postgres does not answer, or the process is shutting down.',
        headers: headersOf([]),
        content: {
          'application/json': { schema: { $ref: '#/components/schemas/Ready' }, example: { ready: false } },
        },
      },
    },
  }),
  '/metrics': operatorPath({
    operationId: 'getMetrics',
    summary: 'Counts and times for Prometheus',
    description: 'Requires an operator token.',
    security: [{ bearer: [] }, { operator: [] }],
    responses: {
      200: {
        description: 'Metrics in the text format of Prometheus, version 0.0.4.',
        headers: headersOf([]),
        content: { 'text/plain': { schema: { type: 'string' } } },
      },
      401: {
        description: 'No operator token.',
        headers: headersOf(['WWW-Authenticate']),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
      ...refusalsOf(['Invalid', 'OnlyGet', 'Unforeseen', 'TokenNotLookedUp']),
    },
  }),
}
