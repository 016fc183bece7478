import assert from 'node:assert/strict'
import type { McpDependencies } from '../../api/mcp/mcp.ts'
import type { ReadDependencies } from '../../api/reads/reads.ts'

export const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_feedback', arguments: {} } }

const notAsked = (): never => {
  throw new Error('These tests do not call this')
}

/** Agents without records, and without a limit on calls. */
export const emptyMcp = (reads: ReadDependencies): McpDependencies => ({
  reads,
  agentReads: {
    compare: notAsked,
    feedbackContext: notAsked,
    accountContext: notAsked,
    findAccount: async () => undefined,
    findNames: async () => [],
    contractValues: async () => new Map(),
    countAnswers: async () => [],
  },
  // No call has to wait.
  limit: () => 0,
  callsPerMinute: 60,
  origins: [],
  called: () => {},
  log: () => {},
})

/** The answer to a request. A token is the name of its scope. */
export const ask = async (
  handle: (request: Request) => Promise<Response>,
  {
    token = 'read',
    body = JSON.stringify(CALL),
    headers = {},
    method = 'POST',
  }: {
    token?: string
    body?: string
    headers?: Record<string, string>
    method?: string
  } = {},
): Promise<{ status: number; headers: Headers; text: string }> => {
  const sent = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    ...(token !== '' && { Authorization: `Bearer ${token}` }),
    ...headers,
  }
  const response = await handle(
    new Request('http://x.example/mcp', { method, headers: sent, ...(method === 'POST' && { body }) }),
  )
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** The error of a message of JSON-RPC, with the id of the message. */
export const errorIn = (text: string): { message: string; id: unknown } => {
  const { jsonrpc, error, id } = JSON.parse(text)
  assert.equal(jsonrpc, '2.0')
  assert.equal(typeof error.code, 'number')
  return { message: error.message, id }
}
