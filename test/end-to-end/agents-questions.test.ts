import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createDemoData, readReviews } from '../../demo/demo-data.ts'
import { type Agent, agentAt, quotesIn } from '../support/agent.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'
import { FEEDBACK, NOW } from './demo-asking.ts'
import { FIGURES } from './demo-figures.ts'
import { WORDS } from './demo-words.ts'

const QUESTIONS = [...FIGURES, ...WORDS]

describe('an agent that asks about the demo', () => {
  let service: SharedService
  let agent: Agent
  const called = new Set<string>()
  let quotes = 0

  before(async () => {
    service = await sharedService()
    const { accounts, contacts, feedback, conversations } = createDemoData(readReviews(), new Date(NOW))
    await service.submitAll([...accounts, ...contacts, ...feedback, ...conversations])
    const untagged = async () => (await service.sql`select from feedback where tags is null`).count
    await until('each feedback has tags', async () => (await untagged()) === 0)
    agent = await agentAt(service.urls[0]!, service.readToken)
  })
  after(async () => {
    await agent?.client.close()
    await service?.stop()
  })

  /** Each quote has the id of a record with these words. */
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

  it(`gets the same figures and records as SQL for ${QUESTIONS.length} questions, with each tool and dimension`, async () => {
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
})
