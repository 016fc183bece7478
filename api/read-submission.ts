import type { GenericSchema, InferOutput } from 'valibot'
import { MAX_DEPTH_LEVELS } from '../contract/limits.ts'
import type { HashKey } from '../contract/identity/own-id.ts'
import { storable } from '../contract/storable.ts'
import type { Idempotency } from '../queue/idempotency.ts'
import { idempotencyOf } from './preferences.ts'
import { readBody } from './read-body.ts'
import { isRefusal, type Refusal } from './refusal.ts'
import { validate } from './validate.ts'

export type ReadSubmission<Body> = { body: Body; idempotency: Idempotency | undefined }

const BODY_TIMEOUT_MS = 30_000

/** What a request says, as it can be stored; or what is wrong with it: size and content type → validation → idempotency key. */
export const readSubmission = async <S extends GenericSchema>(
  request: Request,
  { schema, maxBytes, hashKey }: { schema: S; maxBytes: number; hashKey: HashKey },
): Promise<ReadSubmission<InferOutput<S>> | Refusal> => {
  const read = await readBody(request, { maxBytes, maxDepth: MAX_DEPTH_LEVELS, timeoutMs: BODY_TIMEOUT_MS })
  if (!read.ok) return unreadable(read, maxBytes)
  const validated = validate(schema, storable(read.value))
  if (isRefusal(validated)) return validated
  const idempotency = idempotencyOf(request.headers, read.value, hashKey)
  if (idempotency && isRefusal(idempotency)) return idempotency
  return { body: validated.valid, idempotency }
}

const unreadable = (read: Exclude<Awaited<ReturnType<typeof readBody>>, { ok: true }>, maxBytes: number): Refusal => {
  switch (read.reason) {
    case 'not-json-type':
      return { refused: 'not-json' }
    case 'too-large':
      return { refused: 'too-large', maxBytes }
    case 'too-slow':
      return { refused: 'too-slow' }
    case 'malformed':
      return { refused: 'invalid', problems: [{ message: read.message, path: read.path }] }
  }
}
