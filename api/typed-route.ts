import type * as v from 'valibot'
import type { Problem } from '../contract/problem.ts'

/** The types that Elysia and its client Eden look for in a schema. There is no schema at run time. */
type Typed<T> = { readonly '~standard': { readonly types?: { readonly input: T; readonly output: T } | undefined } }
type Refused = { 400: Typed<{ error: Problem[] }> } & {
  [Status in 401 | 403 | 404 | 408 | 413 | 415 | 422 | 429 | 500 | 503]: Typed<{ error: string }>
}
/** Elysia takes the return value of an error hook for another 200. */
type NotBesides<Status extends number> = { [Other in Exclude<200, Status>]: Typed<never> }
type Answers<Status extends number, Answer> = { [Accepted in Status]: Typed<Answer> } & NotBesides<Status> & Refused

// `readBody` reads the bodies: it bounds time, bytes and depth, and its refusals are those of the interface.
export const UNPARSED = { parse: 'none' } as const

/** `UNPARSED`, with the types of body and answer for clients. */
export const bodyAndAnswer = <Body extends v.GenericSchema, Status extends number, Answer>() =>
  UNPARSED as unknown as { parse: 'none'; body: Typed<v.InferInput<Body>>; response: Answers<Status, Answer> }

/** The same for a route without a body. */
export const answerAlone = <Answer>() => UNPARSED as unknown as { parse: 'none'; response: Answers<200, Answer> }

/** An answer whose type `bodyAndAnswer` or `answerAlone` gives: a union with `Response` would tell a client nothing. */
export const asTyped = (answer: Promise<Response>): Promise<never> => answer as Promise<never>
