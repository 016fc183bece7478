import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { type Agent, agentAt, agentOf, type Quoted, quotesIn, type ToolAnswer } from '../support/agent.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { daysAfterFirst, ITEMS, MESSAGES, PEOPLE } from './agents-data.ts'

/** Filters of a count: arguments of the tool, and the same as SQL over `feedback_view`. */
const narrowed = (ids: Readonly<Record<'account' | 'customer' | 'project', string>>) => [
  { args: {}, where: 'true' },
  { args: { ratingMax: 2 }, where: 'rating <= 2' },
  {
    args: { words: 'export TAKES' },
    where: `lower(description) like '%export%' and lower(description) like '%takes%'`,
  },
  { args: { tags: ['login', 'speed'] }, where: `tags @> array['login', 'speed']` },
  { args: { accountId: ids.account }, where: `account_id = '${ids.account}'` },
  {
    args: { customerId: ids.customer, projectId: ids.project },
    where: `contact_id = '${ids.customer}' and project_id = '${ids.project}'`,
  },
]
const KEYS: Readonly<Record<string, string>> = {
  tag: 't.tag',
  week: `to_char(date_trunc('week', created_at), 'YYYY-MM-DD')`,
  account: 'account_id::text',
  project: 'project_id::text',
  source: 'source',
  rating: 'rating::text',
}

const FEEDBACK = 'feedback_view as f'
const FEEDBACK_BY: Readonly<Record<string, string>> = { tag: `${FEEDBACK} left join unnest(f.tags) as t (tag) on true` }

describe('agents', () => {
  let service: SharedService
  let agent: Agent
  const rows = async (text: string): Promise<ToolAnswer[]> => [...(await service.sql.unsafe(text))]
  const idsOf = async (text: string): Promise<string[]> =>
    (await service.sql.unsafe<{ id: string }[]>(text)).map(({ id }) => id)
  const only = async (text: string): Promise<string> => Object.values((await rows(text))[0])[0] as string
  const quotedIds = (answer: ToolAnswer): string[] => quotesIn(answer).map(({ id }) => id)

  before(async () => {
    service = await sharedService()
    await service.submitAll([...PEOPLE, ...ITEMS])
    const contacts = [{ id: 'pat', properties: { $name: 'Pat', $email: 'pat@example.org' } }]
    const conversation = {
      id: 'c',
      source: 'chat',
      title: 'Invoices',
      createdAt: daysAfterFirst(0),
      contacts,
      messages: MESSAGES,
    }
    await service.submit('/conversations', conversation)
    agent = await agentAt(service.urls[0]!, service.readToken)
  })
  after(async () => {
    await agent?.client.close()
    await service?.stop()
  })

  it('get the same counts as SQL, in each dimension and with each filter', async () => {
    const ids = {
      account: await only(`select id from account where name = 'Works 1'`),
      customer: await only(`select id from contact where name = 'Person 4'`),
      project: await only(`select id from project where name = 'Reports'`),
    }
    for (const [by, key] of Object.entries(KEYS)) {
      for (const { args, where } of narrowed(ids)) {
        const answer = await agent.call('count_feedback', { by, limit: 50, ...args })
        const figures = `count(*)::int as feedback, count(rating)::int as rated,
          round(avg(rating)::numeric, 2)::float8 as "averageRating"`
        const matching = `from ${FEEDBACK_BY[by] ?? FEEDBACK} where ${where}`
        const name = by === 'project' ? 'max(project_name) as name,' : ''
        const groups = await rows(`select ${key} as key, ${name} ${figures} ${matching} group by 1
          order by ${by === 'week' ? '1 desc' : 'feedback desc, 1'}`)
        assert.ok(groups.length > 0, `${by} ${where}`)
        assert.deepEqual(answer.groups, groups, `${by} ${where}`)
        const { notice: _, groups: __, moreGroups, ...all } = answer
        assert.deepEqual(all, (await rows(`select ${figures} from feedback_view where ${where}`))[0])
        assert.equal(moreGroups, 0)
      }
    }
    const few = await agent.call('count_feedback', { by: 'week', limit: 2 })
    const weeks = Number(await only(`select count(distinct ${KEYS['week']}) from feedback`))
    assert.equal(few.groups.length + few.moreGroups, weeks)
  })

  it('get the same changes between two periods as SQL, in each dimension', async () => {
    const days = 28
    for (const [by, key] of Object.entries(KEYS))
      for (const [side, last] of Object.entries({ grows: days, falls: 70 })) {
        const [from, splitAt, until] = [last - 2 * days, last - days, last].map(daysAfterFirst)
        const answer = await agent.call('compare_periods', { by, days, until, limit: 50 })
        const counts = `count(*) filter (where created_at < '${splitAt}')::int as before,
          count(*) filter (where created_at >= '${splitAt}')::int as after`
        const inTime = `where created_at >= '${from}' and created_at < '${until}'`
        const groups = `select ${key} as key, ${counts} from ${FEEDBACK_BY[by] ?? FEEDBACK} ${inTime} group by 1`
        const changes = await rows(`select * from (${groups}) as g where after ${side === 'grows' ? '>' : '<'} before
          order by abs(after - before) desc, key`)
        assert.ok(changes.length > 0, by)
        const found = answer[side] as { key: string; name: string | null; before: number; after: number }[]
        const changed = found.map(({ name: _, ...figures }) => figures)
        assert.deepEqual(changed, changes, `${by} ${side}`)
        const [all] = await rows(`select ${counts} from ${FEEDBACK} ${inTime}`)
        assert.deepEqual({ before: answer.before.feedback, after: answer.after.feedback }, all)
      }
  })

  it('get the same records of lists and searches as SQL, page by page', async () => {
    const account = await only(`select id from account where name = 'Works 2'`)
    const asked: [tool: string, args: Record<string, unknown>, where: string, order?: string][] = [
      ['list_feedback', {}, 'true'],
      ['list_feedback', { order: 'oldest', source: 'Store' }, `source = 'Store'`, 'created_at, id'],
      ['list_feedback', { accountId: account }, `account_id = '${account}'`],
      ['list_feedback', { ratingMin: 3.5, createdTo: '2026-02-01' }, `rating >= 3.5 and created_at < '2026-02-01'`],
      [
        'list_feedback',
        { tags: ['login'], createdFrom: '2026-02-01' },
        `'login' = any (tags) and created_at >= '2026-02-01'`,
      ],
      ['search_feedback', { words: 'GRÖSSE' }, 'false'],
      ['search_feedback', { words: 'größe export' }, `title like 'Größe%' and description like '%EXPORT%'`],
      [
        'search_feedback',
        { words: 'case 1', source: 'Survey' },
        `description like '%case%' and description like '%1%' and source = 'Survey'`,
      ],
      ['quotes_for_tag', { tag: 'speed' }, `'speed' = any (tags)`],
      ['quotes_for_tag', { tag: 'speed', ratingMax: 1 }, `'speed' = any (tags) and rating <= 1`],
    ]
    for (const [tool, args, where, order = 'created_at desc, id desc'] of asked) {
      const found: string[] = []
      for (let next: string | null | undefined; next !== null;) {
        const answer = await agent.call(tool, { ...args, limit: 20, ...(next && { next }) })
        found.push(...quotedIds(answer))
        next = answer.next
      }
      const expected = await idsOf(`select id from feedback_view where ${where} order by ${order}`)
      assert.deepEqual(found, expected, `${tool} ${where}`)
    }
  })

  // agents-questions.test.ts compares the figures and quotes of these answers with SQL.
  it('find an account by its id, and by other forms of its name and domain', async () => {
    const id = await only(`select id from account where name = 'Works 0'`)
    for (const args of [{ id }, { nameOrDomain: ' Works  0 ' }, { nameOrDomain: 'https://www.works-0.example/' }])
      assert.equal((await agent.call('account_story', args)).account.id, id)
  })

  it('read a feedback also as a resource', async () => {
    const [id] = quotedIds(await agent.call('list_feedback', { limit: 1 }))
    const { contents } = await agent.client.readResource({ uri: `feedback-insights://feedback/${id}` })
    assert.deepEqual(JSON.parse((contents[0] as { text: string }).text), await agent.call('get_feedback', { id }))
  })

  it('read the messages of a conversation page by page', async () => {
    const { conversations } = await agent.call('list_conversations')
    const read: string[][] = []
    for (let next: string | null | undefined; next !== null;) {
      const page = await agent.call('get_conversation', { id: conversations[0].id, limit: 5, ...(next && { next }) })
      const found = page.messages as { quote: Quoted; from: string; createdAt: string }[]
      read.push(...found.map(({ quote, from, createdAt }) => [quote.text, from, createdAt]))
      next = page.next
    }
    assert.deepEqual(
      read,
      MESSAGES.map(({ content, incoming, createdAt }) => [
        content,
        incoming ? 'customer' : 'team',
        createdAt.replace('Z', '.000000Z'),
      ]),
    )
  })

  it('get a refusal that names the fault for an unknown tool, or for unknown or malformed arguments', async () => {
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
    for (const { name } of (await agent.client.listTools()).tools)
      assert.match(await agent.refused(name, { sql: 'select 1' }), /sql is not known here/, name)
    assert.equal((await agent.call('search_feedback', { words: 'a\u0000b' })).feedback.length, 0)
    const { next } = await agent.call('list_feedback', { limit: 1 })
    const [, id, list] = JSON.parse(Buffer.from(next, 'base64url').toString())
    const forged = Buffer.from(JSON.stringify(['2026-02-30 00:00:00', id, list])).toString('base64url')
    assert.match(await agent.refused('list_feedback', { limit: 1, next: forged }), /next must be the next/)
    for (const until of ['0001-01-05', '9999-12-31t23:59:59.1234567z'])
      assert.equal((await agent.call('compare_periods', { by: 'tag', days: 366, until })).after.feedback, 0)
  })

  it('see described tools that only read, and get each prompt', async () => {
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
      for (const { feedback } of answers) assert.equal(feedback, 84)
      await client.close()
    }
  })
})
