#!/usr/bin/env node
/**
 * A bridge for programs that speak the Model Context Protocol to a child process. It sends each
 * line to the service, and writes the answers of the service.
 */
import { isOfThisMachine } from './send.ts'

/**
 * The members of `process` that Node.js, Bun and Deno share. The package has no types of these
 * runtimes.
 */
type Host = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: AsyncIterable<Uint8Array>
  readonly stdout: { write: (text: string) => unknown }
  readonly stderr: { write: (text: string) => unknown }
  exitCode?: number | undefined
}
type Message = {
  readonly id?: string | number
  readonly method?: string
  readonly params?: {
    readonly name?: unknown
    readonly uri?: unknown
    readonly _meta?: Readonly<Record<string, unknown>>
  }
  readonly result?: { readonly protocolVersion?: unknown }
}

const { process } = globalThis as unknown as { process: Host }
const { FEEDBACK_URL = '', FEEDBACK_TOKEN = '' } = process.env

const ANSWER_TIMEOUT_MS = 60_000
const VERSION_MEMBER = 'io.modelcontextprotocol/protocolVersion'
const SERVER_ERROR = -32_000

/** The revision that `initialize` agreed on. Requests of later revisions name their revision. */
let agreedVersion: string | undefined

const run = async (): Promise<void> => {
  const underWay = new Set<Promise<void>>()
  for await (const line of lines(process.stdin)) {
    const work = passOn(line).finally(() => underWay.delete(work))
    underWay.add(work)
  }
  await Promise.all(underWay)
}

const lines = async function* (input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of input) {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    yield* parts.filter((part) => part.trim() !== '')
  }
  if (rest.trim() !== '') yield rest
}

const passOn = async (line: string): Promise<void> => {
  const message = messageOf(line)
  try {
    const url = `${FEEDBACK_URL.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}/mcp`
    const response = await fetch(url, {
      method: 'POST',
      headers: headersOf(message),
      body: line,
      // Following a redirection could send the token to another host.
      redirect: 'manual',
      ...(isOfThisMachine(url) && { proxy: false }),
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    })
    const texts = answersIn(await response.text(), response.headers.get('Content-Type') ?? '')
    const isProtocol = texts.length > 0 && texts.every((text) => text.includes('"jsonrpc"'))
    if (isProtocol) for (const text of texts) write(text, message)
    // A message that is no request gets a 202 without a body.
    else if (!response.ok || texts.length > 0 || isRequest(message))
      fail(message, `The service answered ${response.status}: ${texts.join(' ').slice(0, 300)}`)
  } catch {
    fail(message, 'The service did not answer. Check FEEDBACK_URL, and that the service runs.')
  }
}

const isRequest = ({ id, method }: Message): boolean => id !== undefined && method !== undefined

const messageOf = (text: string): Message => {
  try {
    return (JSON.parse(text) as Message | null) ?? {}
  } catch {
    return {}
  }
}

/** Proxies and the service read these headers instead of the body. */
const headersOf = ({ method, params }: Message): Record<string, string> => {
  const own = params?._meta?.[VERSION_MEMBER]
  const name = params?.name ?? params?.uri
  return {
    Authorization: `Bearer ${FEEDBACK_TOKEN}`,
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    ...(typeof own === 'string'
      ? { 'MCP-Protocol-Version': own, 'Mcp-Method': String(method) }
      : agreedVersion !== undefined && { 'MCP-Protocol-Version': agreedVersion }),
    ...(typeof own === 'string' && typeof name === 'string' && { 'Mcp-Name': name }),
  }
}

/** The messages of an answer, one a line. */
const answersIn = (text: string, type: string): string[] => {
  const texts = type.startsWith('text/event-stream')
    ? text.split('\n').flatMap((line) => (line.startsWith('data:') ? [line.slice('data:'.length)] : []))
    : [text]
  return texts.map((each) => each.replaceAll(/[\r\n]+/g, ' ').trim()).filter((each) => each !== '')
}

const write = (text: string, { method }: Message): void => {
  const version = method === 'initialize' ? messageOf(text).result?.protocolVersion : undefined
  if (typeof version === 'string') agreedVersion = version
  process.stdout.write(`${text}\n`)
}

/** The client expects no answer to a message without an id. */
const fail = ({ id }: Message, message: string): void => {
  if (id === undefined) process.stderr.write(`${message}\n`)
  else process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code: SERVER_ERROR, message } })}\n`)
}

if (FEEDBACK_URL !== '' && FEEDBACK_TOKEN !== '') await run()
else {
  process.stderr.write('Set FEEDBACK_URL to the address of the service, and FEEDBACK_TOKEN to a token of scope read.\n')
  process.exitCode = 1
}
