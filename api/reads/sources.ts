import * as v from 'valibot'
import { checkBody, replaceUnstorable } from '../../contract/check-body.ts'
import {
  isSourceName,
  NO_SOURCE,
  sourceSettings,
  type SourceSettings,
  TOO_MANY_FIELDS,
} from '../../contract/source-settings.ts'
import type { setSource } from '../../db/sources.ts'
import { callerOf } from '../authenticate.ts'
import type { Arrival } from '../http/arrival.ts'
import { jsonAnswer } from '../http/json-answer.ts'
import { parseBody } from '../http/read-body.ts'
import { isRefusal, type Refusal, refusalResponse } from '../http/refusal.ts'
import { isStrict } from '../http/request-headers.ts'
import { type IntakeDependencies, isRefusedIntake } from '../submit/intake.ts'
import { withBody } from '../submit/submit.ts'
import { BAD_CURSOR, readCursor, writeCursor } from './cursor.ts'
import { DEFAULT_LIMIT, readQuery, SOURCES_PARAMETERS } from './parameters.ts'
import { type ReadAnswer, type ReadContext, type ReadDependencies, refusalOfFault, withPermit } from './reads.ts'

const LIST = { list: 'sources', filters: {} }
const placeOf = v.strictTuple([v.string()])

/** GET /sources: the sources with their feedback, ratings and settings. */
export const readSources = async (context: ReadContext): Promise<ReadAnswer> => {
  const query = readQuery(context.request, SOURCES_PARAMETERS)
  if (isRefusal(query)) return query
  const { limit = DEFAULT_LIMIT, next } = query
  const place = next === undefined ? undefined : readCursor(next, placeOf, LIST)
  if (next !== undefined && place === undefined) return BAD_CURSOR
  const { workspaceId, dependencies } = context
  const wanted = { after: place?.[0], limit: limit + 1 }
  const found = await withPermit(context, () => dependencies.listSources(workspaceId, wanted), 'countPermits')
  if (isRefusal(found)) return found
  const sources = found.slice(0, limit)
  const cursor = found.length > limit ? writeCursor([sources.at(-1)!.source], LIST) : null
  return { json: JSON.stringify({ sources, next: cursor }) }
}

export type SourceDependencies = {
  intake: IntakeDependencies
  reads: ReadDependencies
  /** Rejects if Postgres does not answer in time. */
  setSource: (
    ...asked: Parameters<typeof setSource> extends [unknown, ...infer Asked] ? Asked : never
  ) => ReturnType<typeof setSource>
}

/** PUT /sources/{source}: replaces the settings of a source. */
export const putSource = async (
  dependencies: SourceDependencies,
  arrival: Arrival,
  source: string,
): Promise<Response> => {
  const { intake, reads } = dependencies
  const caller = await callerOf(intake.authenticate, arrival, 'admin')
  const { request, span } = arrival
  const answer = isRefusal(caller)
    ? caller
    : await replaceSettings(dependencies, { request, source, workspaceId: caller.workspaceId })
  if (isRefusal(answer)) span?.set({ 'feedback_insights.refused': answer.refused })
  if (isRefusal(caller)) return refusalResponse(caller)
  const response = isRefusal(answer)
    ? refusalResponse(answer)
    : jsonAnswer(reads, JSON.stringify(answer), { workspaceId: caller.workspaceId, status: 200 })
  if (isStrict(request.headers)) response.headers.append('Preference-Applied', 'handling=strict')
  return response
}

type Asked = { request: Request; workspaceId: string; source: string }

const replaceSettings = async (
  { intake, reads, setSource: set }: SourceDependencies,
  { request, workspaceId, source }: Asked,
): Promise<object | Refusal> => {
  const received = { request, workspaceId, maxBytes: intake.maxBytes.body }
  const settings = await withBody(intake, received, async (bytes) => validate(bytes, { request, source }))
  if (isRefusedIntake(settings)) return settings.refusal
  if (isRefusal(settings)) return settings
  const context = { workspaceId, request, dependencies: reads }
  try {
    const stored = await set({ workspaceId, source }, settings.valid)
    // The workspace was deleted meanwhile.
    if (stored === undefined) return { refused: 'unauthenticated' }
    if (stored === 'too-many-fields') return { refused: 'invalid', problems: [FULL] }
    // A standby may not have the settings yet, so only the count comes from there.
    const counted = await withPermit(context, () => reads.listSources(workspaceId, { source }), 'countPermits')
    if (isRefusal(counted)) return counted
    const { source: name, ...others } = stored
    return { source: { source: name, feedback: counted[0]?.feedback ?? 0, ...others } }
  } catch (error) {
    return refusalOfFault(context, error)
  }
}

const validate = (
  bytes: Uint8Array,
  { request, source }: Pick<Asked, 'request' | 'source'>,
): { valid: SourceSettings } | Refusal => {
  const parsed = parseBody(bytes)
  if (isRefusal(parsed)) return parsed
  const checked = checkBody(sourceSettings, replaceUnstorable(parsed.value), { isStrict: isStrict(request.headers) })
  const problems = [...(isSourceName(source) ? [] : [BAD_NAME]), ...('problems' in checked ? checked.problems : [])]
  return problems.length > 0 || 'problems' in checked ? { refused: 'invalid', problems } : checked
}

const FULL = { path: 'fields', message: `fields must be ${TOO_MANY_FIELDS}` }
const BAD_NAME = { path: 'source', message: `source must be ${NO_SOURCE}` }
