import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clerksAfter } from './model.ts'
import {
  accepted,
  after,
  byExternalId,
  contact,
  contactIdsOf,
  conversation,
  hashKey,
  idOf,
  message,
  replayed,
  type Step,
  workspaceId,
} from './submissions.ts'
import type { Tables } from './tables.ts'

describe('a conversation', () => {
  const C = idOf('conversation', 'chat', 'C')
  const messageOf = (tables: Tables, id: string) => tables.message.find(({ external_id }) => external_id === id)
  const xIn = (source: string) => idOf('contact_external', source, 'x')

  it('replaces its values and the messages in the body, and leaves other messages and contacts', () => {
    const tables = after(
      conversation({
        title: 'Call',
        properties: { a: 1, b: 1 },
        propagatePropertiesToMessages: true,
        contacts: [{ id: 'x' }],
        messages: [message('1', { createdAt: '2026-02-28T23:30:00-01:00', properties: { b: 2 } }), message('2')],
      }),
      conversation({
        updatedAt: '2026-03-02T00:00:00.250Z',
        shouldUnflattenProperties: true,
        properties: { 'c.d': 3 },
        contacts: [{ id: 'y' }],
        messages: [message('2', { content: 'thanks', incoming: false, sourceUrl: 'https://chat.example/2' })],
      }),
    )
    assert.deepEqual(tables.conversation, [
      {
        workspace_id: workspaceId,
        id: C,
        external_id: 'C',
        source: 'chat',
        title: null,
        rating: null,
        properties: { c: { d: 3 } },
        created_at: '2026-03-01T10:00:00.000Z',
        updated_at: '2026-03-02T00:00:00.250Z',
      },
    ])
    assert.equal(messageOf(tables, '1')?.created_at, '2026-03-01T00:30:00.000Z')
    assert.deepEqual(messageOf(tables, '1')?.raw_data, { a: 1, b: 2 })
    assert.deepEqual(messageOf(tables, '2'), {
      workspace_id: workspaceId,
      id: idOf('message', C, '2'),
      conversation_id: C,
      external_id: '2',
      incoming: false,
      contact_id: null,
      content: 'thanks',
      source_url: 'https://chat.example/2',
      raw_data: {},
      created_at: '2026-03-01T10:00:00.000Z',
    })
    assert.deepEqual(
      new Set(tables.conversation_contact.map(({ contact_id }) => contact_id)),
      new Set([xIn('chat'), idOf('contact_external', 'chat', 'y')]),
    )
  })

  it('unflattens itself and each message on request, then propagates only at the top level', () => {
    const unflattening = { shouldUnflattenProperties: true }
    const given = { ...unflattening, propagatePropertiesToMessages: true, properties: { 'a.b': 1, 'c.d': 2 } }
    const properties = { 'a.x': 9 }
    const messages = [message('1', { properties, ...unflattening }), message('2', { properties }), message('3')]
    const tables = after(conversation({ ...given, messages }))
    assert.deepEqual(
      ['1', '2', '3'].map((id) => messageOf(tables, id)?.raw_data),
      [
        { a: { x: 9 }, c: { d: 2 } },
        { a: { b: 1 }, 'a.x': 9, c: { d: 2 } },
        { a: { b: 1 }, c: { d: 2 } },
      ],
    )
    for (const propagatePropertiesToMessages of [undefined, null, false]) {
      const kept = after(conversation({ ...given, propagatePropertiesToMessages, messages }))
      assert.deepEqual(messageOf(kept, '3')?.raw_data, {})
    }
  })

  it('creates its contacts in its own source, but finds contacts without a source in all sources', () => {
    const tables = after(
      contact({ id: 'x', source: 'crm' }),
      conversation({ contacts: [{ id: 'x', account: { id: 'a' } }, { id: 'y', source: 'desk' }, { id: 'z' }] }),
    )
    assert.deepEqual(
      new Set(tables.conversation_contact.map(({ contact_id }) => contact_id)),
      new Set([xIn('crm'), idOf('contact_external', 'desk', 'y'), idOf('contact_external', 'chat', 'z')]),
    )
    assert.equal(tables.account_external_id[0]?.source, 'chat')
  })

  it('takes a contact without a source for the one with the same id and a source', () => {
    const tables = after(
      byExternalId('x'),
      conversation({
        contacts: [
          { id: 'x', properties: { plan: 1, seats: 1 } },
          { id: 'x', source: 'crm', properties: { plan: 2 } },
        ],
      }),
    )
    assert.deepEqual(
      tables.contact.map(({ id, properties }) => [id, properties]),
      [[xIn('crm'), { plan: 2 }]],
    )
    assert.deepEqual(contactIdsOf(tables, 1), [xIn('crm')])
  })

  it('looks up senders among its contacts, then in its source, then in all, and links unknown senders later', () => {
    const tables = after(
      contact({ id: 'x', source: 'crm' }),
      contact({ id: 'x', source: 'chat' }),
      contact({ id: 'y', source: 'crm' }),
      contact({ id: 'z', source: 'crm' }),
      conversation({
        contacts: [{ id: 'w' }, { id: 'z', source: 'desk' }],
        messages: ['w', 'x', 'y', 'z', 'late'].map((id) => message(id, { contactId: id })),
      }),
      conversation({ messages: [message('own', { contactId: xIn('chat') })] }),
      contact({ id: 'late' }),
      contact({ id: 'late', source: 'chat' }),
    )
    const senders = ['w', 'x', 'y', 'z', 'late', 'own'].map((id) => messageOf(tables, id)?.contact_id)
    assert.deepEqual(senders, [
      idOf('contact_external', 'chat', 'w'),
      xIn('chat'),
      idOf('contact_external', 'crm', 'y'),
      idOf('contact_external', 'desk', 'z'),
      idOf('contact_external', 'API', 'late'),
      null,
    ])
  })

  it('adds the sources of an external id in the order of their code points', () => {
    const contacts = ['\u{1f600}', '\uff21'].map((source) => ({ id: 'x', source }))
    const tables = after(conversation({ contacts }), byExternalId('x'))
    assert.deepEqual(contactIdsOf(tables, 2), [xIn('\uff21')])
  })

  it('replaces the stored one if either has no updatedAt', () => {
    const dated = { updatedAt: '2026-03-02T00:00:00Z' }
    assert.equal(after(conversation(dated), conversation({ title: 'x' })).conversation[0]?.title, 'x')
    assert.equal(after(conversation({}), conversation({ ...dated, title: 'x' })).conversation[0]?.title, 'x')
  })

  it('is superseded if it is replayed after a newer one and writes no message', () => {
    const newer = conversation({ title: 'new', messages: [message('1')] })
    const older = (...messages: object[]) => replayed(conversation({ title: 'old', messages }), 0)
    const clerkAfter = (...history: Step[]) => clerksAfter(hashKey, accepted(history)).get(workspaceId)
    assert.equal(clerkAfter(newer, older(message('1')))?.superseded.size, 1)
    assert.equal(clerkAfter(newer, older(message('1'), message('2')))?.superseded.size, 0)
    assert.equal(after(newer, older(message('2'))).conversation[0]?.title, 'new')
  })

  it('shows the newest of its replayed submissions, and so do its messages, in any order of the replays', () => {
    const replay = (title: string, originalNumber: number) =>
      replayed(conversation({ title, messages: [{ ...message('1'), content: title }] }), originalNumber)
    for (const replays of [
      [replay('old', 0), replay('new', 1)],
      [replay('new', 1), replay('old', 0)],
    ]) {
      const tables = after(conversation({ id: 'other' }), ...replays)
      assert.deepEqual(
        tables.message.map(({ content }) => content),
        ['new'],
      )
      assert.ok(tables.conversation.some(({ title }) => title === 'new'))
    }
  })
})
