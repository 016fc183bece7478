import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type SharedService, sharedService } from '../support/shared-service.ts'

const CREATED_AT = '2026-01-01T00:00:00Z'
/** As JSON text, since an object literal would take the first key for its prototype. */
const HOSTILE_KEYS =
  '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"prototype":1,"toString":"x","hasOwnProperty":null,"":"empty"}'
const UNSTORABLE = 'a\u0000b\ud800c'
const STORED = 'a\ufffdb\ufffdc'

describe('text that does harm elsewhere', () => {
  let service: SharedService
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  /** Compared by Postgres, for the same reason. */
  const assertStored = async (table: string, column: string, wanted: string): Promise<void> => {
    const { sql } = service
    const rows = await sql<{ same: boolean; value: string }[]>`
      select ${sql(column)} = ${wanted}::text::jsonb as same, ${sql(column)}::text as value from ${sql(table)}
      where ${sql(column)} <> '{}'`
    assert.ok(
      rows.length > 0 && rows.every(({ same }) => same),
      `${table}.${column}: ${rows.map((row) => row.value).join()}`,
    )
  }

  it('keys like __proto__ and constructor are stored as data, with and without unflattening', async () => {
    const feedback = `{"description":"x","sourceData":${HOSTILE_KEYS}`
    await service.submit('/feedbacks', `${feedback}}`)
    const { text } = await service.submit('/feedbacks', `${feedback},"shouldUnflattenSourceData":true}`)
    assert.ok(text.includes(HOSTILE_KEYS), text)
    await assertStored('feedback', 'source_data', HOSTILE_KEYS)
  })

  it('such keys are stored in properties of contacts and accounts', async () => {
    const named = HOSTILE_KEYS.replace('{', '{"$name":"n","$domain":"d.example",')
    await service.submit('/accounts/identify', `{"id":"a","properties":${named}}`)
    await assertStored('account', 'properties', HOSTILE_KEYS)
    for (const flag of [false, true]) {
      await service.submit(
        '/contacts/identify',
        `{"id":"c","shouldUnflattenProperties":${flag},"properties":${HOSTILE_KEYS}}`,
      )
    }
    await assertStored('contact', 'properties', HOSTILE_KEYS)
  })

  it('such keys are stored in conversations and messages, and propagated', async () => {
    const message = `{"id":"1","incoming":true,"content":"x","createdAt":"${CREATED_AT}"}`
    await service.submit(
      '/conversations',
      `{"id":"v","source":"s","createdAt":"${CREATED_AT}","contacts":[],"messages":[${message}],` +
        `"propagatePropertiesToMessages":true,"shouldUnflattenProperties":true,"properties":${HOSTILE_KEYS}}`,
    )
    await assertStored('conversation', 'properties', HOSTILE_KEYS)
    await assertStored('message', 'raw_data', HOSTILE_KEYS)
  })

  it('such keys as members of a body are unknown members', async () => {
    const answer = await service.submit(
      '/feedbacks',
      '{"description":"x","__proto__":{"title":"no"},"constructor":{"title":"no"}}',
    )
    const [row] = await service.sql`select title from feedback where id = ${answer.body.feedback.id}`
    assert.equal(row?.['title'], null)
    assert.equal((await service.post('/feedbacks', '{"__proto__":{"description":"x"}}')).status, 400)
  })

  it('U+0000 and lone surrogates are stored as U+FFFD, in every text of a feedback', async () => {
    const answer = await service.submit('/feedbacks', {
      description: UNSTORABLE,
      title: UNSTORABLE,
      tags: [UNSTORABLE],
      source: UNSTORABLE,
      sourceId: UNSTORABLE,
      sourceData: { [UNSTORABLE]: [UNSTORABLE] },
      contact: { name: UNSTORABLE, email: UNSTORABLE, sourceData: { [UNSTORABLE]: UNSTORABLE } },
      account: { name: UNSTORABLE, domain: UNSTORABLE },
      project: { name: UNSTORABLE },
    })
    const { feedback } = answer.body
    assert.deepEqual([feedback.description, feedback.sourceId], [STORED, STORED])
    assert.deepEqual(feedback.sourceData, { [STORED]: [STORED] })
    const [row] = await service.sql`
      select f.description, f.title, f.tags[1] as tag, f.source, f.source_id, c.name as contact, c.email,
        a.name as account, a.domain, p.name as project, f.source_data #>> ${[STORED, '0']} as data
      from feedback as f join contact as c on c.id = f.contact_id join account as a on a.id = f.account_id
      join project as p on p.id = f.project_id where f.id = ${feedback.id}`
    for (const [column, value] of Object.entries(row!)) assert.equal(value, STORED, column)
  })

  it('U+0000 and lone surrogates are stored as U+FFFD in identifies and conversations', async () => {
    const account = { id: UNSTORABLE, properties: { $name: UNSTORABLE, $domain: UNSTORABLE, [UNSTORABLE]: 1 } }
    const contact = {
      id: UNSTORABLE,
      source: UNSTORABLE,
      properties: { $email: UNSTORABLE, $name: UNSTORABLE },
      account,
    }
    await service.submit('/contacts/identify', contact)
    const message = {
      id: UNSTORABLE,
      incoming: true,
      content: UNSTORABLE,
      createdAt: CREATED_AT,
      sourceUrl: UNSTORABLE,
    }
    await service.submit('/conversations', {
      id: UNSTORABLE,
      title: UNSTORABLE,
      source: UNSTORABLE,
      createdAt: CREATED_AT,
      contacts: [contact],
      messages: [{ ...message, contactId: UNSTORABLE, properties: { [UNSTORABLE]: UNSTORABLE } }],
    })
    const [row] = await service.sql`
      select v.external_id, v.title, v.source, m.external_id as message, m.content, m.source_url,
        m.raw_data ->> ${STORED} as raw, c.name, c.email, e.source as contact_source, a.name as account
      from conversation as v
      join message as m on m.conversation_id = v.id join contact as c on c.id = m.contact_id
      join contact_external_id as e on e.contact_id = c.id join account as a on a.id = c.account_id
      where v.external_id = ${STORED}`
    for (const [column, value] of Object.entries(row!)) assert.equal(value, STORED, column)
  })

  it('text that would be SQL, a path or markup elsewhere is kept as it is', async () => {
    const text = `'; drop table feedback; -- \\ " $1 \${x} {{y}} <script>alert(1)</script> %s \u202e \u{1f600}`
    const answer = await service.submit('/feedbacks', { description: text, sourceData: { [text]: text } })
    const [row] = await service.sql`
      select description, source_data from feedback where id = ${answer.body.feedback.id}`
    assert.deepEqual({ ...row }, { description: text, source_data: { [text]: text } })
  })

  it('the longest keys and values are stored', async () => {
    const long = 'x'.repeat(200_000)
    const most = '\u{1f600}'.repeat(512)
    await service.submit('/feedbacks', { description: long, tags: ['x'.repeat(200)], source: most, sourceId: most })
    const contact = { name: long, email: most, sourceData: { ['x'.repeat(16_000)]: 1 } }
    await service.submit('/feedbacks', {
      description: 'x',
      contact,
      account: { name: most, domain: `${most.slice(2)}.` },
    })
    await service.submit('/contacts/identify', {
      id: most,
      source: most,
      properties: { $email: most, ['x'.repeat(8_000)]: 'x'.repeat(8_000) },
    })
  })
})
