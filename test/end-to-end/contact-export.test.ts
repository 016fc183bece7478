import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { feedbackBody, injectDead } from '../support/inject.ts'
import { type CommandResult, outputOf, runCommand } from '../support/command.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { sharedService } from '../support/shared-service.ts'

const service = await sharedService()
after(() => service.stop())

const PROGRAM = 'cli/contact-export-command.ts'
const CREATED_AT = '2026-01-01T00:00:00Z'
const MANY = 5_000
const COPIED = 'copied'

type Row = Record<string, ReturnType<typeof JSON.parse>>
type Export = Record<string, Row[]> & { workspace: string }

describe('npm run contact:export', () => {
  const run = (...words: string[]): Promise<CommandResult> =>
    runCommand(service, PROGRAM, '--workspace', service.workspace, ...words)
  const exported = async (...words: string[]): Promise<Export> =>
    JSON.parse(await outputOf(service, PROGRAM, '--workspace', service.workspace, ...words)) as Export
  const conversation = (id: string, contacts: readonly object[], messages: readonly object[]): object => ({
    id,
    source: 'Intercom',
    title: `About ${id}`,
    createdAt: CREATED_AT,
    contacts,
    messages: messages.map((message, index) => ({
      id: String(index),
      incoming: true,
      createdAt: CREATED_AT,
      ...message,
    })),
  })
  const picked = (rows: readonly Row[] | undefined, ...names: string[]): unknown[][] =>
    (rows ?? []).map((row) => names.map((name) => row[name] as unknown))
  const described = (rows: readonly Row[] | undefined): string[] =>
    (rows ?? []).map(({ description }) => description as string).toSorted()

  it('has all stored data of a contact, and no data of others', async () => {
    const email = 'Ada@example.com'
    const account = { id: 'acme', properties: { $name: 'Acme', $domain: 'acme.example', secret: 'of the account' } }
    const former = { id: 'ada', source: 'crm', account, properties: { $email: 'former@example.com' } }
    const ada = { id: 'ada', source: 'crm', properties: { $email: email, $name: 'Ada', plan: 'pro' } }
    const bob = { id: 'bob', source: 'crm', properties: { $email: 'bob@example.com' } }
    for (const contact of [former, ada, bob]) await service.submit('/contacts/identify', contact)
    for (const feedback of [
      { description: 'by email', contact: { email: 'ADA@example.com' }, tags: ['slow'] },
      { description: 'by id', contactId: 'ada', isExternalContactId: true, sourceData: { a: 1e3 } },
      { description: 'replaced', sourceId: '1', contact: { email, name: 'A.' } },
      { description: 'replacing', sourceId: '1', contact: { email: 'bob@example.com' } },
    ])
      await service.submit('/feedbacks', feedback)
    const messages = [
      { contactId: 'ada', content: 'Hi, Bob', properties: { mood: 'good' } },
      { contactId: 'bob', content: 'Hello' },
    ]
    const people = [ada, bob].map(({ id, source }) => ({ id, source }))
    await service.submit('/conversations', conversation('shared', people, messages))
    await service.submit('/conversations', conversation('elsewhere', people.slice(1), []))

    const all = await exported('--email', 'ada@EXAMPLE.com')
    const [contact] = all['contacts']!
    assert.equal(all['contacts']!.length, 1)
    assert.equal(all.workspace, service.workspace)
    assert.deepEqual([contact?.['name'], contact?.['email'], contact?.['properties']], ['Ada', email, { plan: 'pro' }])
    assert.deepEqual(picked(all['externalIds'], 'source', 'external_id'), [['crm', 'ada']])
    const emails = new Set(picked(all['emails'], 'email').flat())
    assert.deepEqual(emails, new Set(['ada@example.com', 'former@example.com']))
    assert.deepEqual(all['accounts'], [{ id: contact?.['account_id'] as string, name: 'Acme' }])
    assert.deepEqual(described(all['feedback']), ['by email', 'by id'])
    assert.deepEqual(all['feedback']?.find((row) => row['description'] === 'by id')?.['source_data'], { a: 1000 })
    assert.deepEqual(picked(all['messages'], 'content', 'raw_data'), [['Hi, Bob', { mood: 'good' }]])
    assert.deepEqual(picked(all['conversations'], 'id', 'external_id', 'source', 'title'), [
      [all['messages']?.[0]?.['conversation_id'], 'shared', 'Intercom', 'About shared'],
    ])
    assert.deepEqual([all['deadSubmissions'], all['queuedSubmissions']], [[], []])
    const text = JSON.stringify(all)
    for (const others of ['bob', 'Hello', 'of the account', 'elsewhere']) assert.ok(!text.includes(others), others)

    for (const words of [
      ['--id', 'ada'],
      ['--id', 'ada', '--source', 'crm'],
      ['--id', 'stranger', '--email', email],
    ]) {
      assert.deepEqual({ ...(await exported(...words)), exportedAt: '' }, { ...all, exportedAt: '' }, words.join(' '))
    }
    assert.equal((await run('--id', 'ada', '--source', 'API')).code, 1)
  })

  it('finds a contact that only queued or only dead submissions name', async () => {
    await holdWork(service.queues)
    const answer = await service.post('/contacts/identify', { id: 'new', properties: { $email: 'queued@example.com' } })
    for (const words of [
      ['--id', 'new'],
      ['--email', 'queued@example.com'],
    ]) {
      const { contacts, queuedSubmissions } = await exported(...words)
      assert.deepEqual([contacts?.length, queuedSubmissions?.length], [0, 1])
      assert.equal(queuedSubmissions?.[0]?.['body'].id, 'new')
    }
    await resumeWork(service.queues)
    assert.equal(await service.settled(answer), 'applied', answer.text)
    const body = feedbackBody('dead \u0000', { contact: { email: 'dead@example.com' } })
    const id = await injectDead(service, service.queues, { body })
    const { deadSubmissions } = await exported('--email', 'Dead@example.com')
    assert.deepEqual(
      deadSubmissions?.map((one) => [one['id'], one['reason'], one['submission'].body.description] as unknown),
      [[id, 'PostgresError 22P05', 'dead \u0000']],
    )
  })

  it('has all records of a contact with thousands of them', async () => {
    await service.submit('/feedbacks', {
      description: COPIED,
      contact: { email: 'many@example.com' },
      sourceId: 'first',
    })
    await service.all`
      insert into feedback (workspace_id, id, description, tags_generated, source, number, first_number, contact_id,
        change_position)
      select workspace_id, gen_random_uuid(), description || n, false, source, number, first_number, contact_id, change_position
      from feedback, generate_series(1, ${MANY}) as n
      where workspace_id = ${service.workspaceId} and description = ${COPIED}`
    const { feedback } = await exported('--email', 'many@example.com')
    assert.equal(new Set(described(feedback)).size, MANY + 1)
  })

  it('ends with 1 and a reason if there is no data, or if the call or HASH_KEY is wrong', async () => {
    const other = await sharedService()
    await other.stop()
    await service.submit('/contacts/identify', { id: 'here', properties: { $email: 'here@example.com' } })
    const expected: [words: string[], says: RegExp][] = [
      [['--id', 'stranger'], /^The service holds no data about this contact/],
      [
        ['--email', 'here@example.com', '--workspace', other.workspace],
        /^The service holds no data about this contact/,
      ],
      [['--id', 'here', '--workspace', 'unknown'], /^There is no workspace/],
      [[], /^usage: /],
      [['--nothing'], /usage: /],
    ]
    for (const [words, says] of expected) {
      const { code, stdout, stderr } = await run(...words)
      assert.deepEqual([code, stdout], [1, ''], words.join(' '))
      assert.match(stderr, says)
    }
    const environment = { ...service.environment, HASH_KEY: '0'.repeat(64) }
    const result = await runCommand({ environment }, PROGRAM, '--id', 'here')
    assert.deepEqual([result.code, result.stdout], [1, ''])
    assert.match(result.stderr, /^HASH_KEY is not the one/)
  })
})
