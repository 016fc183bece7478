import type * as v from 'valibot'
import type { JsonObject } from '../../contract/json.ts'
import type { Refusal } from '../http/refusal.ts'
import type { ResponseHeader } from './headers.ts'

export type DescribedAnswer = {
  description: string
  /** The refusals that have this answer, by the names of the examples. */
  examples: Readonly<Record<string, Refusal>>
  /** Optional headers, in addition to the headers of `refusalResponse`. */
  also?: readonly ResponseHeader[]
}

/** What a capability adds to the OpenAPI document. */
export type OpenApiPart = {
  /** By paths below the base path. */
  paths: Readonly<Record<string, JsonObject>>
  /** The requests that the service sends. */
  webhooks: JsonObject
  parameters: JsonObject
  /** Answers of its own to refused requests, by the names of their components. */
  refusals: Readonly<Record<string, DescribedAnswer>>
  /** The schemas of bodies and answers, by name. */
  schemas: Readonly<Record<string, v.GenericSchema>>
}
