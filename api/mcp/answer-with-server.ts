import {
  createMcpHandler,
  isLegacyRequest,
  type McpServer,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { errorResponse, idOf, INVALID_REQUEST } from './message.ts'

/**
 * Answers one message by a new server of the SDK. The answer is JSON, also for a client whose
 * `Accept` does not name all types that the SDK asks for. A client that accepts a stream alone gets
 * a stream.
 */
export const answerWithServer = async (
  createServer: () => McpServer,
  { url, headers: given, signal }: Request,
  message: JsonObject,
): Promise<Response> => {
  if (!isVersionKnown(given, message)) return errorResponse(UNKNOWN_VERSION, { status: 400 }, idOf(message))
  const headers = new Headers(given)
  headers.set('Accept', 'application/json, text/event-stream')
  const request = new Request(url, { method: 'POST', headers, signal })
  const isLegacy = await isLegacyRequest(request, message)
  const response = await (isLegacy ? answerLegacy : answerModern)(createServer, request, message)
  return isStreamOnly(given.get('accept')) ? inStream(response) : response
}

/** A request of the revisions without a handshake names its revision in `_meta`, for the SDK to judge. */
const isVersionKnown = (headers: Headers, { method, params }: JsonObject): boolean => {
  const version = headers.get('mcp-protocol-version')
  if (version === null || method === 'initialize' || SUPPORTED_PROTOCOL_VERSIONS.includes(version)) return true
  const meta = isJsonObject(params) ? params['_meta'] : undefined
  return isJsonObject(meta) && Object.hasOwn(meta, PROTOCOL_VERSION_META_KEY)
}

const UNKNOWN_VERSION = {
  code: INVALID_REQUEST,
  message: `The header MCP-Protocol-Version must be one of ${SUPPORTED_PROTOCOL_VERSIONS.join(', ')}`,
}

/** A request of the revisions with a handshake. */
const answerLegacy = async (
  createServer: () => McpServer,
  request: Request,
  parsedBody: JsonObject,
): Promise<Response> => {
  const server = createServer()
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    return await transport.handleRequest(request, { parsedBody })
  } finally {
    await server.close()
  }
}

const answerModern = (createServer: () => McpServer, request: Request, parsedBody: JsonObject): Promise<Response> =>
  // The server sends no message of its own accord, so there is nothing to subscribe to.
  createMcpHandler(createServer, { legacy: 'reject', maxSubscriptions: 0, keepAliveMs: 0 }).fetch(request, {
    parsedBody,
  })

const isStreamOnly = (accept: string | null): boolean =>
  accept !== null && /text\/event-stream/i.test(accept) && !/(?:application|\*)\/(?:json|\*)/i.test(accept)

const inStream = async (response: Response): Promise<Response> => {
  if (!response.ok || response.body === null) return response
  const event = `event: message\ndata: ${await response.text()}\n\n`
  return new Response(event, { headers: { 'Content-Type': 'text/event-stream' } })
}
