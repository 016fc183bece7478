import type { GenericSchema, InferOutput } from 'valibot'
import type { HashKey } from '../../contract/identity/own-id.ts'
import type { JsonValue } from '../../contract/json.ts'
import { MAX_DEPTH_LEVELS } from '../../contract/limits.ts'
import { checkBody } from '../../contract/problem.ts'
import { storable } from '../../contract/storable.ts'
import type { Idempotency, Operation } from '../../contract/submission.ts'
import { idempotencyOfKey } from './request-headers.ts'
import { parseBody, receiveBody, type RefusedBody } from './read-body.ts'
import { isRefusal, type Refusal } from '../refusal.ts'

const BODY_TIMEOUT_MS = 30_000

/** The bytes of a submission, or a refusal for its size or its content type. */
export const receiveSubmission = async (request: Request, maxBytes: number): Promise<Uint8Array | Refusal> => {
  const received = await receiveBody(request, { maxBytes, timeoutMs: BODY_TIMEOUT_MS })
  return received.ok ? received.bytes : refusalOfBody(received, maxBytes)
}

/**
 * The JSON of a body. `levelsAround`: how many levels it may have in addition to those of a
 * submission.
 */
export const parseSubmission = (
  bytes: Uint8Array,
  { maxBytes, levelsAround = 0 }: { maxBytes: number; levelsAround?: number },
): { value: JsonValue } | Refusal => {
  const read = parseBody(bytes, MAX_DEPTH_LEVELS + levelsAround)
  return read.ok ? { value: read.value } : refusalOfBody(read, maxBytes)
}

/** `key`: the idempotency key of the submission. */
type Expected<S> = {
  schema: S
  operation: Operation
  key: string | null
  isStrict: boolean
  mostProblems?: number | undefined
  hashKey: HashKey
}

/**
 * A valid submission, or a refusal with its problems. Checks first the body, then the idempotency
 * key.
 */
export const readSubmission = <S extends GenericSchema>(
  value: JsonValue,
  { schema, operation, key, isStrict, mostProblems, hashKey }: Expected<S>,
): { body: InferOutput<S>; idempotency: Idempotency | undefined } | Refusal => {
  const checked = checkBody(schema, storable(value), { isStrict, most: mostProblems })
  if ('problems' in checked) return { refused: 'invalid', problems: checked.problems }
  const idempotency = idempotencyOfKey(key, operation, { body: value, hashKey })
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
