import type * as v from 'valibot'
import type { JsonObject } from '../../contract/json.ts'

/** What a capability adds to the OpenAPI document. */
export type OpenApiPart = {
  /** By paths below the base path. */
  paths: Readonly<Record<string, JsonObject>>
  /** The requests that the service sends. */
  webhooks: JsonObject
  parameters: JsonObject
  /** The schemas of bodies and answers, by name. */
  schemas: Readonly<Record<string, v.GenericSchema>>
}
