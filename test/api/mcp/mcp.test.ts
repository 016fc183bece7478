import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createCallLimit } from '../../../api/mcp/call-limit.ts'
import type { McpDependencies } from '../../../api/mcp/mcp.ts'
import { mcpRoute } from '../../../api/mcp/open-mcp.ts'
import { show } from '../../../api/mcp/quote.ts'
import type { FeedbackContext } from '../../../db/reads/context.ts'
import type { ToolAnswer } from '../../support/agent.ts'
import { appWithoutStores, emptyReads } from '../../support/app-without-stores.ts'
import { ask, CALL, emptyMcp, errorIn } from '../../support/ask-mcp.ts'

const appWithMcp = (given: Partial<McpDependencies>) =>
  appWithoutStores({ capabilities: [mcpRoute({ ...emptyMcp(emptyReads), ...given })] })

describe('POST /mcp', () => {
  it('is an address of the service', async () => {
    const listed = await appWithoutStores().handle(new Request('http://x/'))
    assert.equal(((await listed.json()) as Record<string, string>)['mcp'], '/mcp')
  })

  it('accepts tokens that may read, and refuses unknown origins, other methods and malformed bodies', async () => {
    const { handle } = appWithMcp({ origins: ['https://app.example'] })
    const cases: [status: number, given: Parameters<typeof ask>[1]][] = [
      [200, {}],
      [200, { token: 'admin' }],
      [403, { token: 'submit' }],
      [403, { token: 'operator' }],
      [403, { token: 'read:personal' }],
      [401, { token: 'unknown' }],
      [401, { token: '' }],
      [200, { headers: { Origin: 'https://app.example' } }],
      [403, { headers: { Origin: 'http://x.example' } }],
      [403, { headers: { Origin: 'null' } }],
      [403, { headers: { Origin: 'http://localhost.evil.example' } }],
      [200, { headers: { Origin: 'http://localhost:6274' } }],
      [405, { method: 'GET' }],
      [405, { method: 'DELETE' }],
      [415, { headers: { 'Content-Type': 'text/plain' } }],
      [413, { body: JSON.stringify({ ...CALL, more: 'x'.repeat(70_000) }) }],
      [400, { body: '{' }],
      [400, { body: '[]' }],
      [400, { body: JSON.stringify([CALL, CALL]) }],
      [400, { body: '1' }],
      [400, { body: '{}' }],
    ]
    for (const [status, given] of cases) {
      const answer = await ask(handle, given)
      assert.equal(answer.status, status, `${JSON.stringify(given).slice(0, 100)}: ${answer.text}`)
      assert.ok(answer.headers.has('X-Request-Id'))
      if (given?.method === undefined && status !== 200) assert.ok(errorIn(answer.text).message !== '')
    }
  })

  it('limits calls, not other messages, and says when the next call may come', async () => {
    let now = 0
    const limit = createCallLimit(2, () => now)
    const { handle } = appWithMcp({ limit, callsPerMinute: 2 })
    const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const statuses = async (...given: Parameters<typeof ask>[1][]): Promise<number[]> => {
      const found: number[] = []
      for (const each of given) found.push((await ask(handle, each)).status)
      return found
    }
    assert.deepEqual(await statuses({ body: list }, {}, { body: list }), [200, 200, 200])
    now = 20_000
    assert.deepEqual(await statuses({}, {}, { body: list }, { token: 'admin' }), [200, 429, 200, 200])
    const late = await ask(handle)
    assert.equal(late.headers.get('Retry-After'), '40')
    assert.equal(errorIn(late.text).id, CALL.id)
    assert.match(errorIn(late.text).message, /calls are limited to 2 per minute/)
    now = 60_000
    assert.deepEqual(await statuses({}, {}), [200, 429])
  })

  it('names each problem of a body or of arguments once', async () => {
    const { handle } = appWithoutStores()
    const nested = await ask(handle, { body: '['.repeat(65) + ']'.repeat(65) })
    assert.equal(errorIn(nested.text).message, 'The body must be nested at most 64 levels deep')
    const refused: [name: string, given: object, problem: string][] = [
      ['list_feedback', { limit: 0.5 }, 'limit must be a whole number from 1 to 20'],
      [
        'compare_periods',
        { by: 'week' },
        'by must be one of tag, theme, kind, source, project, account, customer, rating, or field.NAME of a declared field',
      ],
    ]
    for (const [name, given, problem] of refused) {
      const { text } = await ask(handle, { body: JSON.stringify({ ...CALL, params: { name, arguments: given } }) })
      const { result }: ToolAnswer = JSON.parse(text.slice(text.indexOf('{')))
      assert.equal(result.isError, true)
      assert.equal(result.content[0].text, problem)
    }
  })

  for (const [what, error, says, result] of [
    ['the database is away', new Error('select secret'), /did not answer in time. Ask for less/, 'unavailable'],
    ['this service has a fault', new TypeError('secret'), /Something went wrong on our side/, 'unforeseen'],
  ] as const) {
    it(`tells an agent that ${what}, and counts the call`, async () => {
      const faults: string[] = []
      const calls: object[] = []
      const reads = {
        ...emptyReads,
        readList: () => Promise.reject(error),
        onFault: (event: string) => faults.push(event),
      }
      const { handle } = appWithMcp({ reads, called: (call) => calls.push(call) })
      const { status, text } = await ask(handle)
      assert.equal(status, 200)
      assert.match(text, /"isError":true/)
      assert.match(text, says)
      assert.ok(!text.includes('secret'))
      assert.deepEqual(faults, ['read_failed'])
      const [{ workspaceId: _, ...call }] = calls as [{ workspaceId: string }]
      assert.deepEqual(call, { tool: 'list_feedback', result, records: 0 })
    })
  }

  const id = '21e220a7-39de-8ea2-adec-1b9ebe43cbbd'
  const FEEDBACK = { id, description: 'It squeaks', source: 'API', createdAt: '2026-01-31T12:00:00.000000Z' }
  const NOTHING: FeedbackContext = { sourceId: null, sourceData: null, customer: null, account: null, project: null }

  /** The answer of get_feedback about a feedback with this context. */
  const feedbackWith = async (
    context: FeedbackContext,
    authenticate = emptyReads.authenticate,
  ): Promise<ToolAnswer> => {
    const reads = { ...emptyReads, authenticate, readRecord: async () => JSON.stringify(FEEDBACK) }
    const agentReads = { ...emptyMcp(emptyReads).agentReads, feedbackContext: async () => context }
    const { handle } = appWithMcp({ reads, agentReads })
    const params = { name: 'get_feedback', arguments: { id } }
    const { text } = await ask(handle, { body: JSON.stringify({ ...CALL, params }) })
    const message: ToolAnswer = JSON.parse(text.slice(text.indexOf('{')))
    return message.result.structuredContent
  }

  it('shows whole JSON of personal objects, or marks the JSON as cut', async () => {
    const authenticate: typeof emptyReads.authenticate = async () => ({
      workspaceId: id,
      scopes: ['read', 'read:personal'],
      expiresAt: null,
    })
    // Postgres gives at most one character more than an answer may have.
    const whole = JSON.stringify({ text: '😀'.repeat(3_989) })
    const cut = `{"text": "${'😀'.repeat(3_991)}`
    const shortened = `{"text": "${'\u200C'.repeat(3_991)}`
    assert.deepEqual([[...whole].length, [...cut].length, [...shortened].length], [4_000, 4_001, 4_001])
    const account = { id, name: null, domain: null, contractValue: null, properties: cut }
    const answer = await feedbackWith({ ...NOTHING, sourceData: whole, account }, authenticate)
    assert.deepEqual(answer.sourceData, { json: whole, isCut: false })
    assert.deepEqual(answer.account.properties, { json: [...cut].slice(0, 4_000).join(''), isCut: true })
    assert.equal((await feedbackWith({ ...NOTHING, sourceData: shortened }, authenticate)).sourceData.isCut, true)
  })

  it('leaves out the members without a value, as the output schema of a tool demands', async () => {
    const { notice: _, ...answer } = await feedbackWith(NOTHING)
    assert.deepEqual(Object.keys(answer), ['feedback', 'othersOfCustomer'])
    assert.deepEqual(Object.keys(answer.feedback), ['id', 'createdAt', 'source', 'tags', 'quote'])
  })
})

describe('words that a model sees', () => {
  it('have no email address or phone number without read:personal, even where they are cut', () => {
    const masked: [words: string, expected: string][] = [
      ['ann@example.org', '[masked]'],
      ["<Ann.O'Neil+x@example.co.uk>,b@c", '<[masked]>,[masked]'],
      ['müller@bücher.example said', '[masked] said'],
      ['ann＠example.org', '[masked]'],
      ['mailto:ann@example.org?subject=x', 'mailto:[masked]?subject=x'],
      ['call +49 (30) 1234-5678.', 'call [masked].'],
      ['0049 30 12345678', '[masked]'],
      ['＋49\u00A030\u00A01234\u20115678 or +٤٩ ٣٠ ١٢٣٤٥٦٧', '[masked] or [masked]'],
      ['an\u00ADn@exam\u200Dple.org, "ann lee"@x.org, ann﹫example.org', '[masked], "ann [masked], [masked]'],
      ['https://x.example/?to=ann%40example.org', 'https:[masked]'],
      ['@ann likes 2 @ 3, 10/10, 2026-01-31 and 1000000', '@ann likes 2 @ 3, 10/10, 2026-01-31 and 1000000'],
    ]
    for (const [words, expected] of masked) {
      assert.equal(show(words, 600, { readsPersonal: false }).text, expected)
      assert.equal(show(words, 600, { readsPersonal: true }).text, words)
    }
    for (let before = 0; before < 1_700; before += 7) {
      for (const text of [
        `${'x, '.repeat(before)}ann.secret@example.org`,
        `${'b@c '.repeat(before)}ann.secret@example.org`,
      ]) {
        const cut = show(text, 600, { readsPersonal: false })
        assert.ok(!cut.text.includes('secret'), text)
        assert.ok([...cut.text].length <= 600)
      }
    }
  })

  it('hide no text in characters that people do not see', () => {
    const hidden = [
      '\u{E006F}\u{E0062} \u{E0101}\u{E0102} \u202E \u061C \u2066 \uFFF9',
      '\u200C\u200D\u200C\u200D',
      '\uFE00\uFE01\uFE0F\uFE02',
    ]
    for (const readsPersonal of [true, false]) {
      assert.match(show(hidden.join(' '), 600, { readsPersonal }).text, /^[\uFFFD ]+$/)
      const legible = 'می\u200Cخواهم 👩🏽\u200D❤️\u200D👨 co\u00ADoperate\r\n\t'
      assert.equal(show(legible, 600, { readsPersonal }).text, legible)
    }
  })

  it('are cut between characters, and say so', () => {
    assert.deepEqual(show('😀'.repeat(5), 3, { readsPersonal: true }), { text: '😀'.repeat(3), isCut: true })
    assert.deepEqual(show('😀'.repeat(3), 3, { readsPersonal: false }), { text: '😀'.repeat(3), isCut: false })
  })
})
