import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

/** An answer of a tool or of a resource, in the form for an agent. */
export type ToolAnswer = ReturnType<typeof JSON.parse>

export type Agent = {
  client: Client
  /** Calls a tool that has to answer. Returns its structured answer. */
  call: (name: string, args?: Record<string, unknown>) => Promise<ToolAnswer>
  /** Calls a tool that has to refuse. Returns its message. */
  refused: (name: string, args?: Record<string, unknown>) => Promise<string>
}

/** Connects a client of the official SDK. It uses a revision of the protocol without a handshake. */
export const agentAt = async (url: string, token: string): Promise<Agent> => {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  const requestInit = { headers: { Authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
  return agentOf(client)
}

export const agentOf = (client: Client): Agent => {
  const textOf = (content: ToolAnswer): string => content[0].text as string
  return {
    client,
    call: async (name, args = {}) => {
      const { isError, content, structuredContent } = await client.callTool({ name, arguments: args })
      if (isError === true) throw new Error(`${name} was refused: ${textOf(content)}`)
      if (textOf(content) !== JSON.stringify(structuredContent)) throw new Error(`${name} has two answers`)
      return structuredContent
    },
    refused: async (name, args = {}) => {
      const { isError, content } = await client.callTool({ name, arguments: args })
      if (isError !== true) throw new Error(`${name} answered`)
      return textOf(content)
    },
  }
}

type Quoted = { id: string; title?: string; text: string; isCut?: true }

/** Every quote in an answer, at any place, with the id of its record. */
export const quotesIn = (value: unknown): Quoted[] => {
  if (typeof value !== 'object' || value === null) return []
  const { id, quote, ...others } = value as { id: string; quote?: Omit<Quoted, 'id'> }
  return [...(quote ? [{ id, ...quote }] : []), ...Object.values(others).flatMap(quotesIn)]
}
