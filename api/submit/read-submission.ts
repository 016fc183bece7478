import type { GenericSchema, InferOutput } from 'valibot'
import type { HashKey } from '../../contract/identity/own-id.ts'
import { MAX_DEPTH_LEVELS } from '../../contract/limits.ts'
import { checkBody } from '../../contract/problem.ts'
import { storable } from '../../contract/storable.ts'
import type { Idempotency } from '../../contract/idempotency.ts'
import type { Operation } from '../../contract/job.ts'
import { idempotencyOfRequest } from './preferences.ts'
import { readBody, type RefusedBody } from './read-body.ts'
import { isRefusal, type Refusal } from '../refusal.ts'

export type ReadSubmission<Body> = { body: Body; idempotency: Idempotency | undefined }

const BODY_TIMEOUT_MS = 30_000

/** The body of a request as it can be stored, or what is wrong: size and content type → validation → idempotency key. */
export const readSubmission = async <S extends GenericSchema>(
  request: Request,
  { schema, operation, maxBytes, hashKey }: { schema: S; operation: Operation; maxBytes: number; hashKey: HashKey },
): Promise<ReadSubmission<InferOutput<S>> | Refusal> => {
  const read = await readBody(request, { maxBytes, maxDepth: MAX_DEPTH_LEVELS, timeoutMs: BODY_TIMEOUT_MS })
  if (!read.ok) return refusalOfBody(read, maxBytes)
  const checked = checkBody(schema, storable(read.value))
  if ('problems' in checked) return { refused: 'invalid', problems: checked.problems }
  const idempotency = idempotencyOfRequest(request.headers, operation, { body: read.value, hashKey })
  if (idempotency && isRefusal(idempotency)) return idempotency
  return { body: checked.valid, idempotency }
}

const refusalOfBody = (body: RefusedBody, maxBytes: number): Refusal => {
  switch (body.reason) {
    case 'not-json-type':
      return { refused: 'not-json' }
    case 'too-large':
      return { refused: 'too-large', maxBytes }
    case 'too-slow':
      return { refused: 'too-slow' }
    case 'malformed':
      return { refused: 'invalid', problems: [{ message: body.message, path: body.path }] }
  }
}
