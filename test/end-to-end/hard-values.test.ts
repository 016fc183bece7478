import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type SharedService, sharedService } from '../support/shared-service.ts'

const CREATED_AT = '2026-01-01T00:00:00Z'
/** As JSON text, since an object literal would use the first key as its prototype. */
const HOSTILE_KEYS =
  '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"prototype":1,"toString":"x","hasOwnProperty":null,"":"empty"}'
const UNSTORABLE = 'a\u0000b\ud800c'
const STORED = 'a\ufffdb\ufffdc'
const NUMBERS = ['0', '-1', '0.1', '9007199254740991', '-9007199254740991', '1e21', '1.5e-7', '5e-324']
/** Each offset of RFC 3339 is valid, although Postgres refuses offsets of 16 hours or more. */
const INSTANTS = {
  '2026-06-01T12:00:00-23:59': '2026-06-02T11:59:00.000Z',
  '2026-06-01T12:00:00.5+16:00': '2026-05-31T20:00:00.500Z',
  '2026-06-01t12:00:00z': '2026-06-01T12:00:00.000Z',
  '0001-01-02T00:00:00Z': '0001-01-02T00:00:00.000Z',
  '9999-12-31T23:59:59.9999999Z': '9999-12-31T23:59:59.999Z',
}

describe('values that are hard to store', () => {
  let service: SharedService
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  /** Compared by Postgres, since an object would use a key as its prototype. */
  const assertStored = async (table: string, column: string, wanted: string): Promise<void> => {
    const { sql } = service
    const rows = await sql<{ same: boolean; value: string }[]>`
      select ${sql(column)} = ${wanted}::text::jsonb as same, ${sql(column)}::text as value from ${sql(table)}
      where ${sql(column)} <> '{}'`
    const values = rows.map(({ value }) => value).join()
    assert.ok(rows.length > 0 && rows.every(({ same }) => same), `${table}.${column}: ${values}`)
  }

  it('keys like __proto__ and constructor are stored as data in every free object, unflattened or not', async () => {
    const feedback = `{"description":"x","sourceData":${HOSTILE_KEYS}`
    await service.submit('/feedbacks', `${feedback}}`)
    const { text } = await service.submit('/feedbacks', `${feedback},"shouldUnflattenSourceData":true}`)
    assert.ok(text.includes(HOSTILE_KEYS), text)
    const named = HOSTILE_KEYS.replace('{', '{"$name":"n","$domain":"d.example",')
    await service.submit('/accounts/identify', `{"id":"a","properties":${named}}`)
    for (const flag of [false, true]) {
      const contact = `{"id":"c","shouldUnflattenProperties":${flag},"properties":${HOSTILE_KEYS}}`
      await service.submit('/contacts/identify', contact)
    }
    const message = `{"id":"1","incoming":true,"content":"x","createdAt":"${CREATED_AT}"}`
    await service.submit(
      '/conversations',
      `{"id":"v","source":"s","createdAt":"${CREATED_AT}","contacts":[],"messages":[${message}],` +
        `"propagatePropertiesToMessages":true,"shouldUnflattenProperties":true,"properties":${HOSTILE_KEYS}}`,
    )
    await assertStored('feedback', 'source_data', HOSTILE_KEYS)
    for (const table of ['account', 'contact', 'conversation']) await assertStored(table, 'properties', HOSTILE_KEYS)
    await assertStored('message', 'raw_data', HOSTILE_KEYS)
  })

  it('such keys as members of a body are unknown members', async () => {
    const body = '{"description":"x","__proto__":{"title":"no"},"constructor":{"title":"no"}}'
    const answer = await service.submit('/feedbacks', body)
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
    const properties = { $email: UNSTORABLE, $name: UNSTORABLE }
    const contact = { id: UNSTORABLE, source: UNSTORABLE, properties, account }
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

  it('text that looks like SQL, a path or markup is stored unchanged', async () => {
    const text = `'; drop table feedback; -- \\ " $1 \${x} {{y}} <script>alert(1)</script> %s \u202e \u{1f600}`
    const answer = await service.submit('/feedbacks', { description: text, sourceData: { [text]: text } })
    const [row] = await service.sql`
      select description, source_data from feedback where id = ${answer.body.feedback.id}`
    assert.deepEqual({ ...row }, { description: text, source_data: { [text]: text } })
  })

  it('the longest keys and values are stored', async () => {
    const long = 'x'.repeat(200_000)
    const most = '\u{1f600}'.repeat(512)
    const sourceData = { ['x'.repeat(16_000)]: 1 }
    await service.submit('/feedbacks', { description: long, tags: ['x'.repeat(200)], source: most, sourceId: most })
    const [contact, account] = [
      { name: long, email: most, sourceData },
      { name: most, domain: `${most.slice(2)}.` },
    ]
    await service.submit('/feedbacks', { description: 'x', contact, account })
    const properties = { $email: most, ['x'.repeat(8_000)]: 'x'.repeat(8_000) }
    await service.submit('/contacts/identify', { id: most, source: most, properties })
  })

  it('numbers are kept to the last digit, and a rating may be a negative fraction', async () => {
    const list = NUMBERS.join()
    const body = `{"description":"x","rating":-4.25,"sourceData":{"list":[${list}]}}`
    const answer = await service.submit('/feedbacks', body)
    assert.equal(answer.body.feedback.rating, -4.25)
    const [row] = await service.sql<{ kept: boolean }[]>`
      select source_data -> 'list' = ${`[${list}]`}::text::jsonb as kept
      from feedback where id = ${answer.body.feedback.id}`
    assert.equal(row?.kept, true)
  })

  for (const [given, instant] of Object.entries(INSTANTS)) {
    it(`a date-time is stored as its instant, in every column: ${given}`, async () => {
      const times = { $createdAt: given, $updatedAt: given }
      await service.submit('/contacts/identify', { id: given, properties: times })
      await service.submit('/accounts/identify', { id: given, properties: { $name: given, $domain: given, ...times } })
      await service.submit('/feedbacks', { description: given, createdAt: given })
      const message = { id: given, incoming: true, content: 'x', createdAt: given }
      const common = { id: given, source: 's', createdAt: given, updatedAt: given }
      await service.submit('/conversations', { ...common, contacts: [], messages: [message] })
      const [found] = await service.sql<{ row: Record<string, string> }[]>`
        select to_jsonb(times) as row from (
        select v.created_at, v.updated_at, m.created_at as sent_at, c.source_created_at, c.source_updated_at,
          a.source_created_at as account_created_at, a.source_updated_at as account_updated_at,
          f.created_at as given_at
        from conversation as v join message as m on m.conversation_id = v.id
        join contact_external_id as ce on ce.external_id = v.external_id join contact as c on c.id = ce.contact_id
        join account_external_id as ae on ae.external_id = v.external_id join account as a on a.id = ae.account_id
        join feedback as f on f.description = v.external_id
        where v.external_id = ${given}) as times`
      assert.equal(Object.keys(found?.row ?? {}).length, 8)
      for (const [column, at] of Object.entries(found!.row)) assert.equal(new Date(at).toISOString(), instant, column)
    })
  }
})
