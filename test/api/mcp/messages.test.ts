import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { appWithoutStores } from '../../support/app-without-stores.ts'
import { ask, CALL, errorIn } from '../../support/ask-mcp.ts'

describe('a message of an agent', () => {
  it('takes a member that is null for one that is left out', async () => {
    const { handle } = appWithoutStores()
    const none = {
      filters: { source: null, tag: null, customerId: null, ratingMin: null, createdFrom: null },
      limit: null,
      next: null,
    }
    const initialize = {
      protocolVersion: '2025-06-18',
      capabilities: { roots: null, sampling: null },
      clientInfo: { name: 'x', version: '1', title: null },
    }
    const messages: object[] = [
      { method: 'tools/call', params: { name: 'list_feedback', arguments: none, _meta: null } },
      { method: 'tools/call', params: { name: 'list_feedback', arguments: null } },
      { method: 'tools/call', params: { name: 'count_feedback' }, result: null, error: null },
      { method: 'tools/list', params: null },
      { method: 'tools/list', params: { cursor: null, _meta: { progressToken: null } } },
      { method: 'prompts/get', params: { name: 'this_week', arguments: null } },
      { method: 'initialize', params: initialize },
      { method: 'ping', params: null },
    ]
    for (const message of messages) {
      const { status, text } = await ask(handle, { body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }) })
      const answer = JSON.parse(text)
      assert.equal(status, 200, text)
      assert.ok(answer.result && answer.result.isError !== true, `${JSON.stringify(message)}: ${text}`)
    }
    const notification = { jsonrpc: '2.0', id: null, method: 'notifications/initialized', params: null }
    assert.equal((await ask(handle, { body: JSON.stringify(notification) })).status, 202)
  })

  it('answers in JSON for each Accept header, and in a stream to a client that accepts nothing else', async () => {
    const { handle } = appWithoutStores()
    const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    for (const [Accept, type] of [
      ['application/json, text/event-stream', /^application\/json/],
      ['text/event-stream, application/json;q=0.9', /^application\/json/],
      ['application/json', /^application\/json/],
      ['*/*', /^application\/json/],
      ['application/*', /^application\/json/],
      ['application/json;charset=utf-8', /^application\/json/],
      ['text/html, */*;q=0.1', /^application\/json/],
      ['text/event-stream, */*', /^application\/json/],
      ['', /^application\/json/],
      ['text/event-stream', /^text\/event-stream/],
    ] as const) {
      const { status, headers, text } = await ask(handle, { body: list, headers: { Accept } })
      assert.equal(status, 200, Accept)
      assert.match(headers.get('Content-Type') ?? '', type, Accept)
      assert.equal(JSON.parse(text.replace(/^event: message\ndata: /, '')).result.tools.length, 7)
    }
  })

  it('refuses in its own words, not in those of a library', async () => {
    const { handle } = appWithoutStores()
    const refused: [message: unknown, code: number, text: RegExp][] = [
      [{ id: 1, method: 'ping' }, -32_600, /^jsonrpc must be "2.0"$/],
      [{ jsonrpc: '2.0', id: 1 }, -32_600, /^method must be/],
      [{ jsonrpc: '2.0', id: null, method: 'ping' }, -32_600, /^id must be a string or a whole number$/],
      [{ jsonrpc: '2.0', id: 1.5, method: 'ping' }, -32_600, /^id must be/],
      [{ jsonrpc: '2.0', id: 1, method: 'ping', params: [] }, -32_602, /^params must be an object$/],
      [{ jsonrpc: '2.0', id: 1, method: 'tools/call' }, -32_602, /^In params: name is required$/],
      [{ ...CALL, params: { name: 1 } }, -32_602, /^In params: name must be a string$/],
      [
        { ...CALL, params: { name: 'list_feedback', arguments: [] } },
        -32_602,
        /^In params: arguments must be an object$/,
      ],
      [{ ...CALL, params: { name: 'secret' } }, -32_602, /^There is no such tool. There are: count_feedback, /],
      [
        { ...CALL, method: 'prompts/get', params: { name: 'secret' } },
        -32_602,
        /^There is no such prompt. There are: this_week, /,
      ],
      [{ ...CALL, method: 'prompts/get', params: { name: 'topic_report' } }, -32_602, /^tag is required$/],
      [{ ...CALL, method: 'resources/read', params: {} }, -32_602, /^In params: uri is required$/],
      [
        { ...CALL, method: 'initialize', params: {} },
        -32_602,
        /^In params: protocolVersion is required; clientInfo is required$/,
      ],
    ]
    for (const [message, code, expected] of refused) {
      const { text } = await ask(handle, { body: JSON.stringify(message) })
      const { error } = JSON.parse(text)
      assert.equal(error?.code, code, `${JSON.stringify(message)}: ${text}`)
      assert.match(error.message, expected)
    }
    const version = await ask(handle, { headers: { 'MCP-Protocol-Version': 'secret' } })
    assert.match(errorIn(version.text).message, /^The header MCP-Protocol-Version must be one of 20/)
  })

  it('names the scope that an unknown token lacks', async () => {
    const { status, headers, text } = await ask(appWithoutStores().handle, { token: 'unknown' })
    assert.equal(status, 401)
    assert.equal(headers.get('WWW-Authenticate'), 'Bearer scope="read"')
    assert.match(errorIn(text).message, /bearer token of scope read or admin is required/)
  })
})
