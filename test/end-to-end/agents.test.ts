import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { createDemoData, readReviews } from '../../demo/demo-data.ts'
import { type Agent, agentAt, agentOf, quotesIn } from '../support/agent.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'
import { untilIndexed } from '../support/until-indexed.ts'
import { FEEDBACK, MORE_FEEDBACK, NOW } from './demo-asking.ts'
import { FIGURES } from './demo-figures.ts'
import { KEYS } from './demo-keys.ts'
import { RECORDS } from './demo-records.ts'

const QUESTIONS = [...FIGURES, ...RECORDS, ...KEYS]
/** An agent that needs more calls for a question gives up, or guesses. */
const MOST_CALLS = 3

describe('agents that ask about the demo', () => {
  let service: SharedService
  let agent: Agent
  const called = new Set<string>()
  let [quotes, calls] = [0, 0]

  before(async () => {
    service = await sharedService()
    const { accounts, contacts, feedback, conversations } = createDemoData(readReviews(), new Date(NOW))
    await service.submitAll([...accounts, ...contacts, ...feedback, ...conversations, ...MORE_FEEDBACK])
    const untagged = async () => (await service.sql`select from feedback where tags is null`).count
    await until('each feedback has tags', async () => (await untagged()) === 0)
    await untilIndexed(service.all, service.workspaceId)
    agent = await agentAt(service.urls[0]!, service.readToken)
  })
  after(async () => {
    await agent?.client.close()
    await service?.stop()
  })

  /** Calls a tool, and compares each quote in the answer with its stored record. */
  const call = async (tool: string, args: { by?: string | readonly string[] } = {}) => {
    const answer = await agent.call(tool, args)
    calls++
    called.add(tool)
    if (args.by !== undefined) called.add(`${tool} by ${String(args.by)}`)
    for (const { id, text, isCut } of quotesIn(answer)) {
      const [record] = await service.sql<{ words: string }[]>`
        select coalesce((select description from feedback where id = ${id}), (select content from message where id = ${id}),
          (select title from conversation where id = ${id})) as words`
      assert.equal(text, isCut ? record!.words.slice(0, text.length) : record!.words)
      quotes++
    }
    return answer as Readonly<Record<string, never>>
  }

  it(`get the same figures and records as SQL for ${QUESTIONS.length} questions, in at most ${MOST_CALLS} calls`, async () => {
    for (const [question, answer, sql] of QUESTIONS) {
      const expected = await service.sql.unsafe(`${FEEDBACK} ${sql}`).values()
      assert.ok(expected.length > 0, question)
      calls = 0
      assert.deepEqual(await answer(call), [...expected], question)
      assert.ok(calls <= MOST_CALLS, `${question}: ${calls} calls`)
    }
    assert.ok(QUESTIONS.length >= 70 && quotes > 100)
    const { tools } = await agent.client.listTools()
    const dimensions = ['tag', 'week', 'account', 'project', 'source', 'rating'].map((by) => `count_feedback by ${by}`)
    for (const each of [...tools.map(({ name }) => name), ...dimensions, 'compare_periods by tag'])
      assert.ok(called.has(each), each)
  })

  it('find an account by its id, and by other forms of its name and domain', async () => {
    const [bank] = await service.sql<[{ id: string }]>`select id from account where name = 'Cedar Bridge Bank'`
    for (const account of [
      bank.id,
      bank.id.toUpperCase(),
      ' Cedar  Bridge Bank ',
      'https://www.cedar-bridge-bank.example.com/',
    ])
      assert.equal((await agent.call('account_story', { account })).account.id, bank.id)
  })

  it('read a feedback also as a resource', async () => {
    const { id } = (await agent.call('list_feedback', { limit: 1 })).feedback[0]
    const { contents } = await agent.client.readResource({ uri: `feedback-insights://feedback/${id}` })
    assert.deepEqual(JSON.parse((contents[0] as { text: string }).text), await agent.call('get_feedback', { id }))
  })

  it('read the messages of a conversation page by page', async () => {
    const [{ id, messages }] = await service.sql<[{ id: string; messages: string[] }]>`
      select conversation_id as id, array_agg(content order by created_at, id) as messages
      from message group by 1 order by count(*) desc limit 1`
    assert.ok(messages.length > 3)
    const read: string[] = []
    for (let next: string | null | undefined; next !== null;) {
      const page = await agent.call('get_conversation', { id, limit: 3, ...(next && { next }) })
      read.push(...quotesIn(page.messages).map(({ text }) => text))
      next = page.next
    }
    assert.deepEqual(read, messages)
  })

  it('get a refusal that names the fault for an unknown tool, argument or record, or a malformed argument', async () => {
    await assert.rejects(agent.client.callTool({ name: 'delete_feedback', arguments: {} }), /no such tool/)
    await assert.rejects(agent.client.callTool({ name: '__proto__', arguments: {} }))
    const refused: [tool: string, args: Record<string, unknown>, problem: RegExp][] = [
      ['count_feedback', { by: 'email' }, /by must be one or two of tag, theme, kind, source/],
      ['count_feedback', { by: ['tag', 'source', 'week'] }, /by must be one or two of/],
      ['count_feedback', { by: 'tag', sql: 'select 1' }, /sql is not known here; arguments are of, by, filters/],
      ['count_feedback', { source: 'x' }, /source is not known here: put it into filters/],
      ['count_feedback', { filters: { words: 'x' } }, /filters.words is not known here; filters are q, source, tag/],
      ['count_feedback', { by: 'tag', order: 'contractValue' }, /needs account as the first of by/],
      ['count_feedback', { of: 'conversations', by: 'project' }, /conversations have no project/],
      [
        'compare_periods',
        { by: 'week' },
        /by must be one of tag, theme, kind, source, project, account, customer, rating/,
      ],
      ['compare_periods', { by: 'tag', filters: { createdTo: '2026-01-01' } }, /put the times into later and earlier/],
      ['compare_periods', { by: 'tag', later: { from: '2026-02-01', to: '2026-01-01' } }, /must begin before it ends/],
      ['list_feedback', { limit: 21 }, /limit must be a whole number from 1 to 20/],
      ['list_feedback', { filters: { createdFrom: 'yesterday' } }, /filters.createdFrom must be a date such as 2026/],
      ['list_feedback', { filters: { accountId: `' or true --` } }, /filters.accountId must be an id of this service/],
      ['list_feedback', { next: 'x' }, /next must come from an answer/],
      ['list_feedback', { filters: { q: ' ' } }, /filters.q must be 1 to 20 words/],
      ['resolve', {}, /give one of name, domain, email and externalId/],
      ['resolve', { name: 'x', email: 'y@example.org' }, /give one of/],
      ['account_story', {}, /account is required/],
      ['account_story', { account: 'Stranger' }, /resolve finds accounts by a part of the name/],
      ['get_feedback', { id: '21e220a7-39de-8ea2-adec-1b9ebe43cbbd' }, /no such record in this workspace. Take ids/],
    ]
    for (const [tool, args, problem] of refused) {
      const refusal = await agent.refused(tool, args)
      assert.match(refusal, problem, `${tool} ${JSON.stringify(args)}`)
      assert.ok(!/yesterday|or true|select/.test(refusal), refusal)
    }
    for (const { name } of (await agent.client.listTools()).tools)
      assert.match(await agent.refused(name, { sql: 'select 1' }), /sql is not known here; arguments are/, name)
    const { next } = await agent.call('list_feedback', { limit: 1 })
    const [, id, list] = JSON.parse(Buffer.from(next, 'base64url').toString())
    const forged = Buffer.from(JSON.stringify(['2026-02-30 00:00:00', id, list])).toString('base64url')
    assert.match(await agent.refused('list_feedback', { limit: 1, next: forged }), /next must come from an answer/)
  })

  it('get an answer without feedback for words with a NUL, and for the first and last times', async () => {
    assert.equal((await agent.call('list_feedback', { filters: { q: 'a\u0000b' } })).feedback.length, 0)
    for (const later of [
      { from: '0001-01-02', to: '0001-01-05' },
      { from: '9999-12-30', to: '9999-12-31t23:59:59.1234567z' },
    ])
      assert.equal((await agent.call('compare_periods', { by: 'tag', later })).after.feedback, 0)
  })

  it('get the same answer for arguments in a similar form', async () => {
    const asked = {
      by: ['tag', 'source'],
      filters: { tag: ['battery'], satisfactionMax: 0.5, source: 'demo' },
      limit: 3,
    }
    const expected = await agent.call('count_feedback', asked)
    assert.ok(expected.feedback > 0)
    for (const similar of [
      { by: 'tag,source', filters: { tag: 'battery', satisfactionMax: '0.5', source: 'demo', q: null }, limit: '3' },
      { by: 'tag, source', filters: JSON.stringify(asked.filters), limit: 3, order: null, of: null, nps: 'false' },
      { by: '["tag","source"]', filters: { ...asked.filters, tag: '["battery"]' }, limit: 3.0 },
    ])
      assert.deepEqual(await agent.call('count_feedback', similar), expected)
  })

  it('get a hint where an answer could mislead', async () => {
    const hinted = async (args: Record<string, unknown>): Promise<string> =>
      String((await agent.call('count_feedback', args)).hints?.[0])
    assert.match(await hinted({ filters: { tag: 'Battery' } }), /Tags and sources must be written exactly/)
    assert.match(await hinted({ filters: { ratingMax: 2 } }), /different scales/)
    assert.match(await hinted({ by: 'rating' }), /different scales/)
    assert.equal(await hinted({ by: 'rating', filters: { source: 'demo' } }), 'undefined')
    const unknown = 'No text has “qwertzuiop” in any form. Try other words.'
    const filters = { q: 'battery qwertzuiop' }
    assert.equal(await hinted({ filters }), unknown)
    assert.equal(await hinted({ of: 'conversations', filters: { q: 'qwertzuiop' } }), unknown)
    for (const of of ['feedback', 'conversations'])
      assert.deepEqual((await agent.call('list_feedback', { of, filters: { q: 'qwertzuiop' } })).hints, [unknown])
    assert.deepEqual((await agent.call('compare_periods', { by: 'tag', filters })).hints, [unknown])
    assert.match((await agent.call('resolve', { name: 'zyzzyva' })).hints[0], /Try a part of the name/)
  })

  it('get records with one id, times in seconds and no microseconds', async () => {
    const [record] = (await agent.call('list_feedback', { limit: 1, filters: { source: 'demo' } })).feedback
    assert.match(record.createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    assert.equal(JSON.stringify(record).match(/[0-9a-f]{8}-[0-9a-f]{4}-/g)?.length, 1)
  })

  it('see tools that are marked as read-only and have descriptions, and get each prompt', async () => {
    const { tools } = await agent.client.listTools()
    assert.ok(JSON.stringify(tools).length <= 16_000, `tools/list has ${JSON.stringify(tools).length} characters`)
    assert.ok(!/"format":"(?!date-time)/.test(JSON.stringify(tools)))
    for (const { annotations, description = '' } of tools) {
      assert.equal(annotations?.readOnlyHint, true)
      assert.ok(description.length > 50)
    }
    const { prompts } = await agent.client.listPrompts()
    assert.deepEqual(
      prompts.map(({ name }) => name),
      ['this_week', 'topic_report', 'account_review'],
    )
    for (const { name, arguments: args = [] } of prompts) {
      const given = Object.fromEntries(args.map((each) => [each.name, 'speed']))
      assert.equal((await agent.client.getPrompt({ name, arguments: given })).messages.length, 1)
    }
  })

  it('also reach the service through a child process, in both revisions of the protocol', async () => {
    const run = fileURLToPath(new URL('../../client/mcp-command.ts', import.meta.url))
    for (const mode of ['legacy', { pin: '2026-07-28' }] as const) {
      const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
      const env = { FEEDBACK_URL: service.urls[1] ?? service.urls[0]!, FEEDBACK_TOKEN: service.readToken }
      await client.connect(new StdioClientTransport({ command: process.execPath, args: [run], env }))
      const answers = await Promise.all(['tag', 'source'].map((by) => agentOf(client).call('count_feedback', { by })))
      for (const { feedback } of answers) assert.equal(feedback, (await service.sql`select from feedback`).count)
      await client.close()
    }
  })
})
