import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Service, startService } from '../support/service.ts'
import { tablesWith } from '../support/traces.ts'
import { until } from '../support/until.ts'

const CONVERSATION_SOURCE = 'Intercom'
/** Whoever else is in a conversation stays. */
const OTHER = 'other'

describe('a purge', () => {
  let service: Service
  before(async () => {
    service = await startService()
  })
  after(() => service?.stop())

  const purge = async (email: string): Promise<void> => {
    const answer = await service.post('/contacts/purge', { email }, { token: service.adminToken })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(await service.settled(answer), 'applied')
  }

  /** A contact with something in every table, beside another one who stays. */
  const tellEverythingOf = async (mark: string): Promise<string> => {
    const email = `${mark}@example.com`
    const id = `${mark}-id`
    const properties = { $email: email, $name: mark, [mark]: { [mark]: mark } }
    await service.submit('/contacts/identify', { id, source: mark, properties })
    const feedback = await service.submit('/feedbacks', {
      description: mark,
      title: mark,
      sourceId: mark,
      sourceData: { [mark]: mark },
      contact: { email },
    })
    const tagged = { description: 'x', tags: [mark], isExternalContactId: true, contactId: id }
    await service.submit('/feedbacks', tagged)
    const createdAt = '2026-01-01T00:00:00Z'
    const message = { incoming: true, content: mark, createdAt, properties: { [mark]: mark }, sourceUrl: mark }
    const conversation = { source: CONVERSATION_SOURCE, createdAt, messages: [{ ...message, id: mark, contactId: id }] }
    await service.submit('/conversations', {
      ...conversation,
      id: 'alone',
      title: mark,
      contacts: [{ id, source: mark }],
    })
    await service.submit('/conversations', {
      ...conversation,
      id: 'shared',
      contacts: [{ id, source: mark }, { id: OTHER }],
      messages: [
        { ...message, id: mark, contactId: id },
        { ...message, id: 'of-other', contactId: OTHER, content: 'Hello', properties: {}, sourceUrl: null },
        { ...message, id: 'of-team', incoming: false, content: 'Hello', properties: {}, sourceUrl: null },
      ],
    })
    await until('everything has its tags', async () => {
      const [row] = await service.sql<{ tagged: boolean }[]>`
        select not exists (select from feedback where id = ${feedback.body.feedback.id} and tags is null)
          and not exists (select from conversation where tags is null) as tagged`
      return row!.tagged
    })
    return email
  }

  it('leaves no trace of the contact in Postgres, nor in the logs', async () => {
    const mark = 'vanishing'
    const email = await tellEverythingOf(mark)
    const tables = await tablesWith(service, mark)
    for (const table of [
      'contact',
      'contact_external_id',
      'feedback',
      'conversation',
      'message',
      'feedback_category',
    ]) {
      assert.ok(tables.includes(table), `${table} has to hold something to be removed`)
    }
    await purge(email)
    assert.deepEqual(await tablesWith(service, mark), [])
    assert.equal(service.output().includes(mark), false)
    const conversations = await service.sql`
      select v.external_id as id,
        array(select e.external_id from conversation_contact as vc join contact_external_id as e using (contact_id)
          where vc.conversation_id = v.id) as contacts,
        array(select m.external_id from message as m where m.conversation_id = v.id order by 1) as messages
      from conversation as v where v.source = ${CONVERSATION_SOURCE}`
    assert.deepEqual([...conversations], [{ id: 'shared', contacts: [OTHER], messages: ['of-other', 'of-team'] }])
  })
})
