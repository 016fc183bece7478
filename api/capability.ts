import type { ProcessMetrics } from '../runtime/metrics.ts'
import type { Resources } from './create-intake.ts'
import type { Arrival } from './http/arrival.ts'
import type { OpenApiPart } from './openapi/openapi-part.ts'
import type { SourceDependencies } from './reads/sources.ts'

export type CapabilityRoute = {
  method: 'GET' | 'POST' | 'DELETE' | 'ALL'
  /** The whole path, with parameters such as `:id`. */
  path: string
  handle: (arrival: Arrival, params: Readonly<Record<string, string>>) => Promise<Response>
}

export type OpenedCapability = {
  routes: readonly CapabilityRoute[]
  /** Its address, for the answer of `/`. */
  address?: { name: string; path: string }
  /** Whether its requests are traced, although they are not below the base path. */
  isTraced?: boolean
}

/** What the API hands to capabilities. */
export type CapabilityParts = SourceDependencies & {
  basePath: string
  resources: Resources
  counter: ProcessMetrics['counter']
}

/** Something that the API offers beside submissions and reads of records. */
export type ApiCapability = {
  open: (parts: CapabilityParts) => OpenedCapability
  /** Its part of the OpenAPI document. */
  reference?: OpenApiPart
}
