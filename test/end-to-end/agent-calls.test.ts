import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { type Agent, agentAt, agentOf } from '../support/agent.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'

describe('agents', () => {
  let service: SharedService
  let agent: Agent
  before(async () => {
    service = await sharedService()
    await service.submit('/feedbacks', { description: 'It is quick', tags: ['speed'] })
    agent = await agentAt(service.urls[0]!, service.readToken, false)
  })
  after(async () => {
    await agent?.client.close()
    await service?.stop()
  })

  it('cannot call unknown tools, give unknown arguments, or read with another kind of token', async () => {
    await assert.rejects(agent.client.callTool({ name: 'delete_feedback', arguments: {} }), /not found/)
    await assert.rejects(agent.client.callTool({ name: '__proto__', arguments: {} }))
    const refused: [tool: string, args: Record<string, unknown>, problem: RegExp][] = [
      ['count_feedback', { by: 'email' }, /by must be one of tag, week/],
      ['count_feedback', { by: 'tag', sql: 'select 1' }, /sql is not known here/],
      ['list_feedback', { limit: 21 }, /limit must be a whole number from 1 to 20/],
      ['list_feedback', { createdFrom: 'yesterday' }, /createdFrom must be an existing date/],
      ['list_feedback', { accountId: `' or true --` }, /accountId must be an id of this service/],
      ['list_feedback', { next: 'x' }, /next must be the next/],
      ['search_feedback', {}, /words/],
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
    assert.equal((await agent.call('search_feedback', { words: 'a\u0000b' })).feedback.length, 0)
    const { tools } = await agent.client.listTools()
    for (const { annotations, description = '' } of tools) {
      assert.equal(annotations?.readOnlyHint, true)
      assert.ok(description.length > 50)
    }
    const { prompts } = await agent.client.listPrompts()
    for (const { name, arguments: args = [] } of prompts) {
      const given = Object.fromEntries(args.map((each) => [each.name, 'speed']))
      assert.equal((await agent.client.getPrompt({ name, arguments: given })).messages.length, 1)
    }
  })

  it('are counted by tool and result, with the records that they read', async () => {
    await agent.call('count_feedback', { by: 'tag' })
    await agent.refused('get_feedback', { id: '21e220a7-39de-8ea2-adec-1b9ebe43cbbd' })
    const { text } = await service.request('/metrics', undefined, { method: 'GET', token: service.adminToken })
    const valueOf = (name: string, ...labels: string[]): number => {
      const line = text
        .split('\n')
        .find(
          (each) =>
            each.startsWith(name) && [service.workspaceId, ...labels].every((label) => each.includes(`"${label}"`)),
        )
      return Number(line?.split(' ').at(-1))
    }
    assert.ok(valueOf('feedback_insights_agent_calls_total', 'count_feedback', 'answered') >= 1, text)
    assert.ok(valueOf('feedback_insights_agent_calls_total', 'get_feedback', 'no-such-record') >= 1)
    assert.ok(valueOf('feedback_insights_agent_records_total', 'count_feedback') >= 1)
  })

  it('also reach the service through a child process, in both revisions of the protocol', async () => {
    const run = fileURLToPath(new URL('../../client/mcp-command.ts', import.meta.url))
    const isDeno = 'deno' in process.versions
    for (const mode of ['legacy', { pin: '2026-07-28' }] as const) {
      const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
      const env = { FEEDBACK_URL: service.urls[1] ?? service.urls[0]!, FEEDBACK_TOKEN: service.readToken }
      const args = isDeno ? ['run', '-A', run] : [run]
      await client.connect(new StdioClientTransport({ command: process.execPath, args, env }))
      const answers = await Promise.all(['tag', 'source'].map((by) => agentOf(client).call('count_feedback', { by })))
      for (const { feedback } of answers) assert.equal(feedback, 1)
      await client.close()
    }
  })
})
