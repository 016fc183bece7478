import { localhostAllowedOrigins, validateOriginHeader } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { replaceUnstorable } from '../../contract/check-body.ts'
import { tokenHash } from '../../contract/token-format.ts'
import type { Logger } from '../../runtime/logger.ts'
import { callerOf } from '../authenticate.ts'
import type { ReadDependencies } from '../reads/reads.ts'
import { isRefusal, type Refusal, refusalAnswer } from '../http/refusal.ts'
import { requestIdOf } from '../http/request-id.ts'
import { takeTurn } from '../http/take-turn.ts'
import type { Arrival } from '../http/arrival.ts'
import { parseBody, receiveBody } from '../http/read-body.ts'
import type { AgentReads, AgentRead } from './agent-read.ts'
import { answerWithServer } from './answer-with-server.ts'
import type { CallLimit } from './call-limit.ts'
import type { CountCall } from './count-calls.ts'
import { createMcpServer, KNOWN_NAMES } from './mcp-server.ts'
import {
  errorResponse,
  idOf,
  INVALID_PARAMS,
  INVALID_REQUEST,
  type MessageProblem,
  problemOfMessage,
  withoutNulls,
} from './message.ts'
import { refusalText } from './refusal-text.ts'

const MOST_BODY_BYTES = 64 * 1024
const PARSE_ERROR = -32_700
/** An error code of the range for servers. */
const REFUSED = -32_000

export type McpDependencies = {
  reads: ReadDependencies
  agentReads: AgentReads
  limit: CallLimit
  callsPerMinute: number
  /** Origins that a request may have, in addition to those of this machine. */
  origins: readonly string[]
  called: CountCall
  log: Logger
}

/**
 * Answers one message of the Model Context Protocol over HTTP. There are no sessions, so any API
 * process can answer any request.
 */
export const answerMcp = async (dependencies: McpDependencies, arrival: Arrival): Promise<Response> => {
  const { request, token } = arrival
  if (!isOriginKnown(request, dependencies.origins)) return refuse({ refused: 'origin' })
  const caller = await callerOf(dependencies.reads.authenticate, arrival, 'read')
  if (isRefusal(caller)) return refuse(caller.refused === 'unauthenticated' ? { ...caller, needs: 'read' } : caller)
  const body = await readMessage(request)
  if (body instanceof Response) return body
  const problem = problemOfMessage(body) ?? problemOfName(body)
  if (problem) return errorResponse(problem, { status: 400 }, idOf(body))
  // The SDK takes milliseconds for a message.
  await takeTurn()
  const refusal = isCall(body) ? refuseOverLimit(dependencies, typeof token === 'string' ? token : '') : undefined
  if (refusal) return refuse(refusal, idOf(body))
  return answerMessage(dependencies, body, {
    workspaceId: caller.workspaceId,
    request,
    dependencies: dependencies.reads,
    agentReads: dependencies.agentReads,
    sight: { readsPersonal: caller.scopes.includes('read:personal') },
    now: () => new Date(),
  })
}

/**
 * Programs send no origin. A page whose host name points at this machine (DNS rebinding) sends its
 * own origin.
 */
const isOriginKnown = ({ headers }: Request, origins: readonly string[]): boolean => {
  const origin = headers.get('origin')
  return origin === null || origins.includes(origin) || validateOriginHeader(origin, localhostAllowedOrigins()).ok
}

/** The message with storable characters only, or the answer that refuses the body. */
const readMessage = async (request: Request): Promise<JsonObject | Response> => {
  const bytes = await receiveBody(request, MOST_BODY_BYTES)
  if (isRefusal(bytes)) return refuse(bytes)
  const read = parseBody(bytes)
  if (isRefusal(read)) return errorResponse({ code: PARSE_ERROR, message: refusalText(read) }, { status: 400 })
  // The limit would count a batch of calls as one call.
  if (!isJsonObject(read.value)) return errorResponse(NO_MESSAGE, { status: 400 })
  return withoutNulls(replaceUnstorable(read.value))
}

const NO_MESSAGE = { code: INVALID_REQUEST, message: 'The body must be one message, not a batch' }

/** A call must name a tool or prompt that exists. */
const problemOfName = ({ method, params }: JsonObject): MessageProblem | undefined => {
  if (typeof method !== 'string' || !Object.hasOwn(KNOWN_NAMES, method)) return undefined
  const { what, names } = KNOWN_NAMES[method]!
  if (isJsonObject(params) && names.some((name) => name === params['name'])) return undefined
  return { code: INVALID_PARAMS, message: `There is no such ${what}. There are: ${names.join(', ')}` }
}

/** A refusal in the form of the protocol, with the status and headers of the refusal. */
const refuse = (refusal: Refusal, id?: JsonValue): Response => {
  const { status, headers } = refusalAnswer(refusal)
  return errorResponse({ code: REFUSED, message: refusalText(refusal) }, { status, headers }, id)
}

/** Whether a message makes the service read records. */
const isCall = ({ method }: JsonObject): boolean => method === 'tools/call' || method === 'resources/read'

const refuseOverLimit = ({ limit, callsPerMinute }: McpDependencies, token: string): Refusal | undefined => {
  const retryAfterSeconds = limit(tokenHash(token))
  if (retryAfterSeconds === 0) return undefined
  return { refused: 'rate-limited', unit: 'calls', most: callsPerMinute, windowSeconds: 60, retryAfterSeconds }
}

const answerMessage = ({ called, log }: McpDependencies, body: JsonObject, asked: AgentRead): Promise<Response> => {
  const { request, workspaceId } = asked
  const ids = { requestId: requestIdOf(request), workspaceId }
  const createServer = () =>
    createMcpServer(asked, (call) => {
      called({ workspaceId, ...call })
      log('info', 'agent_call', { ...ids, ...call })
    })
  return answerWithServer(createServer, request, body)
}
