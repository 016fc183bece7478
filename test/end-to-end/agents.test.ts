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
import { RECORDS } from './demo-records.ts'

const QUESTIONS = [...FIGURES, ...RECORDS]

describe('agents that ask about the demo', () => {
  let service: SharedService
  let agent: Agent
  const called = new Set<string>()
  let quotes = 0

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
  const call = async (tool: string, args: { by?: string } = {}) => {
    const answer = await agent.call(tool, args)
    called.add(args.by === undefined ? tool : `${tool} by ${args.by}`)
    for (const { kind, id, text, isCut } of quotesIn(answer)) {
      const column = { feedback: 'description', message: 'content', conversation: 'title' }[kind]!
      const [record] = await service.sql.unsafe<{ words: string }[]>(
        `select ${column} as words from ${kind} where id = '${id}'`,
      )
      assert.equal(text, isCut ? record!.words.slice(0, text.length) : record!.words)
      quotes++
    }
    return answer as Readonly<Record<string, never>>
  }

  it(`get the same figures and records as SQL for ${QUESTIONS.length} questions, with each tool`, async () => {
    for (const [question, answer, sql] of QUESTIONS) {
      const expected = await service.sql.unsafe(`${FEEDBACK} ${sql}`).values()
      assert.ok(expected.length > 0, question)
      assert.deepEqual(await answer(call), [...expected], question)
    }
    assert.ok(QUESTIONS.length >= 40 && quotes > 100)
    const { tools } = await agent.client.listTools()
    const dimensions = ['tag', 'week', 'account', 'project', 'source', 'rating'].map((by) => `count_feedback by ${by}`)
    const names = tools
      .map(({ name }) => name)
      .filter((name) => name !== 'count_feedback' && name !== 'compare_periods')
    for (const each of [...names, ...dimensions, 'compare_periods by tag']) assert.ok(called.has(each), each)
  })

  it('find an account by its id, and by other forms of its name and domain', async () => {
    const [bank] = await service.sql<[{ id: string }]>`select id from account where name = 'Cedar Bridge Bank'`
    for (const args of [
      { id: bank.id },
      { nameOrDomain: ' Cedar  Bridge Bank ' },
      { nameOrDomain: 'https://www.cedar-bridge-bank.example.com/' },
    ])
      assert.equal((await agent.call('account_story', args)).account.id, bank.id)
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
      ['count_feedback', { by: 'email' }, /by must be one of tag, source/],
      ['count_feedback', { by: 'tag', sql: 'select 1' }, /sql is not known here/],
      ['list_feedback', { limit: 21 }, /limit must be a whole number from 1 to 20/],
      ['list_feedback', { createdFrom: 'yesterday' }, /createdFrom must be an existing date/],
      ['list_feedback', { accountId: `' or true --` }, /accountId must be an id of this service/],
      ['list_feedback', { next: 'x' }, /next must come from an answer/],
      ['search_feedback', {}, /words is required/],
      ['search_feedback', { words: ' ' }, /words must be 1 to 20 words/],
      ['account_story', {}, /given by id or nameOrDomain/],
      ['account_story', { nameOrDomain: 'Stranger' }, /no such record/],
      ['get_feedback', { id: '21e220a7-39de-8ea2-adec-1b9ebe43cbbd' }, /no such record/],
    ]
    for (const [tool, args, problem] of refused) {
      const refusal = await agent.refused(tool, args)
      assert.match(refusal, problem, `${tool} ${JSON.stringify(args)}`)
      assert.ok(!/yesterday|or true|select/.test(refusal), refusal)
    }
    for (const { name } of (await agent.client.listTools()).tools)
      assert.match(await agent.refused(name, { sql: 'select 1' }), /sql is not known here/, name)
    const { next } = await agent.call('list_feedback', { limit: 1 })
    const [, id, list] = JSON.parse(Buffer.from(next, 'base64url').toString())
    const forged = Buffer.from(JSON.stringify(['2026-02-30 00:00:00', id, list])).toString('base64url')
    assert.match(await agent.refused('list_feedback', { limit: 1, next: forged }), /next must come from an answer/)
  })

  it('get an answer without feedback for words with a NUL, and for the first and last times', async () => {
    assert.equal((await agent.call('search_feedback', { words: 'a\u0000b' })).feedback.length, 0)
    const { feedback, hint } = await agent.call('search_feedback', { words: 'battery qwertzuiop' })
    assert.deepEqual(
      [feedback, hint],
      [[], 'No feedback of this workspace has “qwertzuiop” in any form. Try other words.'],
    )
    for (const at of ['0001-01-05', '9999-12-31t23:59:59.1234567z'])
      assert.equal((await agent.call('compare_periods', { by: 'tag', days: 366, until: at })).after.feedback, 0)
  })

  it('see tools that are marked as read-only and have descriptions, and get each prompt', async () => {
    const { tools } = await agent.client.listTools()
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
