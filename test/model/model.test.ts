import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import * as v from 'valibot'
import { JOB_VERSION, submissionJob, type SubmissionJob } from '../../contract/job.ts'
import { hashKeyFrom, ownId, type KeyKind } from '../../contract/identity/own-id.ts'
import { seeded } from '../support/property-seed.ts'
import { applyAll } from './model.ts'
import { submissionHistories } from './submission-arbitrary.ts'
import type { Tables } from './tables.ts'

const hashKey = hashKeyFrom('5a'.repeat(32))
const workspaceId = 'a3c54be2-54c5-4f0c-8d55-5e9b9b1f0c11'
const idOf = (kind: KeyKind, ...parts: string[]) => ownId({ hashKey, workspaceId }, kind, ...parts)

type Submission = [SubmissionJob['operation'], body: object]
const feedback = (body: object): Submission => ['create_feedback', { description: 'slow', ...body }]
const contact = (body: object): Submission => ['identify_contact', body]
const account = (body: object): Submission => ['identify_account', body]
const conversation = (body: object): Submission => [
  'submit_conversation',
  { id: 'C', source: 'chat', createdAt: '2026-03-01T10:00:00Z', contacts: [], messages: [], ...body },
]
const message = (id: string, body: object = {}) => ({
  id,
  incoming: true,
  content: 'hello',
  createdAt: '2026-03-01T10:00:00Z',
  ...body,
})

const jobs = (submissions: readonly Submission[], workspace = workspaceId): SubmissionJob[] =>
  submissions.map(([operation, body], index) =>
    v.parse(submissionJob, {
      version: JOB_VERSION,
      workspaceId: workspace,
      submissionId: submissionId(index + 1),
      number: index + 1,
      operation,
      body,
    }),
  )
const submissionId = (number: number) => `01900000-0000-7000-8000-${String(number).padStart(12, '0')}`

/** Accepted in the order given, with the numbers from 1. */
const after = (...submissions: Submission[]): Tables => applyAll(hashKey, jobs(submissions))

const contactIdOf = (tables: Tables, number: number) =>
  tables.feedback.find(({ id }) => id === submissionId(number))?.contact_id
const accountIdOf = (tables: Tables, number: number) =>
  tables.feedback.find(({ id }) => id === submissionId(number))?.account_id
const contactOf = (tables: Tables, id: string) => tables.contact.find((row) => row.id === id)
const accountOf = (tables: Tables, id: string) => tables.account.find((row) => row.id === id)

const X = idOf('contact_external', 'API', 'x')
const Y = idOf('contact_external', 'API', 'y')
const ANN = idOf('contact_email', 'ann@example.org')
const byEmail = (email: string, more: object = {}) => feedback({ contact: { email, ...more } })
const byExternalId = (contactId: string, more: object = {}) =>
  feedback({ isExternalContactId: true, contactId, ...more })
const claiming = (id: string, $email: string | null, more: object = {}) =>
  contact({ id, properties: { $email }, ...more })

describe('a contact known by its email', () => {
  it('is the same however the email is written, and keeps the form given first', () => {
    const tables = after(byEmail(' Ann@Example.org'), byEmail('ann@example.org'))
    assert.deepEqual([contactIdOf(tables, 1), contactIdOf(tables, 2)], [ANN, ANN])
    assert.equal(contactOf(tables, ANN)?.email, ' Ann@Example.org')
  })

  it('compares in upper and lower case what does not look like an email', () => {
    const tables = after(byEmail('user-7 '), byEmail('USER-7'))
    assert.equal(contactIdOf(tables, 1), idOf('contact_email', 'user-7'))
    assert.equal(contactIdOf(tables, 2), idOf('contact_email', 'USER-7'))
  })

  it('becomes one with whoever claims the email first, with all it had', () => {
    const tables = after(
      byEmail('ann@example.org', { name: 'Ann', sourceData: { plan: 'a', seats: 1 } }),
      contact({ id: 'x', properties: { $email: 'ann@example.org', plan: 'b' } }),
      byEmail('ann@example.org'),
    )
    assert.deepEqual([contactIdOf(tables, 1), contactIdOf(tables, 3)], [X, X])
    assert.deepEqual(tables.contact, [
      {
        workspace_id: workspaceId,
        id: X,
        email: 'ann@example.org',
        account_id: null,
        name: 'Ann',
        contract_value: null,
        source_created_at: null,
        source_updated_at: null,
        properties: { plan: 'b', seats: 1 },
        created_number: 1,
        updated_number: 2,
      },
    ])
  })

  it('goes to the first of two claimants, and what comes later to the second', () => {
    const tables = after(
      byEmail('ann@example.org'),
      claiming('x', 'ann@example.org'),
      byEmail('ann@example.org'),
      claiming('y', 'ann@example.org'),
      byEmail('ann@example.org'),
    )
    assert.deepEqual(
      [1, 3, 5].map((number) => contactIdOf(tables, number)),
      [X, X, Y],
    )
    assert.equal(tables.contact.length, 2)
  })

  it('stays claimed when the claimant takes another email', () => {
    const tables = after(claiming('x', 'ann@example.org'), claiming('x', 'new@example.org'), byEmail('ann@example.org'))
    assert.equal(contactIdOf(tables, 3), X)
    assert.equal(contactOf(tables, X)?.email, 'new@example.org')
  })

  it('takes the value that was given first, also when that comes to it by absorption', () => {
    const tables = after(
      claiming('x', 'x@example.org'),
      byEmail('ann@example.org', { sourceData: { plan: 'first' } }),
      byEmail('x@example.org', { sourceData: { plan: 'second' } }),
      claiming('x', 'ann@example.org'),
    )
    assert.deepEqual(contactOf(tables, X)?.properties, { plan: 'first' })
  })
})

describe('own ids', () => {
  it('keep meaning the absorber, whoever claims the email later', () => {
    const tables = after(
      byEmail('ann@example.org'),
      feedback({ contactId: ANN.toUpperCase() }),
      claiming('x', 'ann@example.org'),
      claiming('y', 'ann@example.org'),
      feedback({ contact: { id: ANN } }),
    )
    assert.deepEqual(
      [1, 2, 5].map((number) => contactIdOf(tables, number)),
      [X, X, X],
    )
  })

  it('mean nobody before they were ever given, and are not remembered', () => {
    const tables = after(
      feedback({ contactId: X }),
      feedback({ contactId: ANN }),
      contact({ id: 'x' }),
      byEmail('ann@example.org'),
    )
    assert.deepEqual([contactIdOf(tables, 1), contactIdOf(tables, 2)], [null, null])
  })

  it('of an email that was claimed before anybody used it mean the claimant', () => {
    const tables = after(claiming('x', 'ann@example.org'), byEmail('ann@example.org'), feedback({ contactId: ANN }))
    assert.deepEqual([contactIdOf(tables, 2), contactIdOf(tables, 3)], [X, X])
  })

  it('are no account ids', () => {
    const tables = after(contact({ id: 'x' }), feedback({ accountId: X }))
    assert.equal(accountIdOf(tables, 2), null)
  })

  it('of an absorbed account lead through a name and a domain', () => {
    const tables = after(
      feedback({ account: { name: 'Acme' } }),
      feedback({ account: { name: 'Acme', domain: 'acme.example' } }),
      account({ id: 'a', properties: { $name: 'Other', $domain: 'acme.example' } }),
      feedback({ accountId: idOf('account_name', 'Acme') }),
      feedback({ accountId: idOf('account_domain', 'acme.example') }),
    )
    for (const number of [1, 2, 4, 5]) assert.equal(accountIdOf(tables, number), idOf('account_external', 'a'))
  })
})

describe('external ids', () => {
  it('link a feedback later that named one too early', () => {
    const tables = after(
      byExternalId('x'),
      contact({ id: 'x', source: 'crm' }),
      contact({ id: 'x', source: 'API' }),
      byExternalId('x'),
    )
    assert.equal(contactIdOf(tables, 1), idOf('contact_external', 'crm', 'x'))
    assert.equal(contactIdOf(tables, 4), X)
  })

  it("are searched in the feedback's own source, then by age", () => {
    const tables = after(
      contact({ id: 'x', source: 'crm' }),
      contact({ id: 'x', source: 'desk' }),
      byExternalId('x'),
      byExternalId('x', { source: 'desk' }),
    )
    assert.equal(contactIdOf(tables, 3), idOf('contact_external', 'crm', 'x'))
    assert.equal(contactIdOf(tables, 4), idOf('contact_external', 'desk', 'x'))
  })

  it('without a source mean the oldest, and start in API', () => {
    const tables = after(
      contact({ id: 'x', properties: { plan: 1 } }),
      contact({ id: 'x', source: 'crm' }),
      contact({ id: 'x', properties: { plan: 2 } }),
    )
    assert.deepEqual(
      tables.contact_external_id.map(({ source, contact_id }) => [source, contact_id]),
      [
        ['API', X],
        ['crm', idOf('contact_external', 'crm', 'x')],
      ],
    )
    assert.deepEqual(contactOf(tables, X)?.properties, { plan: 2 })
  })

  it('win over the other keys of a reference, which then count for nothing', () => {
    const tables = after(
      contact({ id: 'x' }),
      byExternalId('x', { contact: { email: 'ann@example.org', name: 'Ann', sourceData: { plan: 1 } } }),
      feedback({ isExternalContactId: true, contact: { id: 'x', email: 'ann@example.org' } }),
    )
    assert.deepEqual([contactIdOf(tables, 2), contactIdOf(tables, 3)], [X, X])
    assert.equal(tables.contact.length, 1)
    assert.deepEqual(contactOf(tables, X)?.properties, {})
  })

  it('are forgotten where the contact beside them says who it is', () => {
    const tables = after(byExternalId('x', { contact: { email: 'ann@example.org' } }), contact({ id: 'x' }))
    assert.equal(contactIdOf(tables, 1), ANN)
  })

  it('fall back from contactId to contact.id, and the last one named is remembered', () => {
    const tables = after(
      contact({ id: 'y' }),
      byExternalId('x', { contact: { id: 'y' } }),
      byExternalId('p', { contact: { id: 'q', email: ' ' } }),
      contact({ id: 'p' }),
      contact({ id: 'q' }),
    )
    assert.equal(contactIdOf(tables, 2), Y)
    assert.equal(contactIdOf(tables, 3), idOf('contact_external', 'API', 'q'))
  })

  it('of accounts are the same in all sources, and belong to that of the first identify', () => {
    const tables = after(
      feedback({ isExternalAccountId: true, accountId: 'a' }),
      contact({ id: 'x', source: 'crm', account: { id: 'a' } }),
      account({ id: 'a' }),
    )
    const id = idOf('account_external', 'a')
    assert.deepEqual(tables.account_external_id, [
      { workspace_id: workspaceId, source: 'crm', external_id: 'a', account_id: id },
    ])
    assert.equal(accountIdOf(tables, 1), id)
    assert.equal(contactOf(tables, idOf('contact_external', 'crm', 'x'))?.account_id, id)
    assert.deepEqual([accountOf(tables, id)?.created_number, accountOf(tables, id)?.updated_number], [2, 3])
  })
})

describe('blank keys', () => {
  it('name nobody and fill nothing', () => {
    const tables = after(
      feedback({ contact: { email: ' ', name: '', sourceData: { plan: 1 } }, account: { name: '', domain: ' ' } }),
      feedback({ contact: null, account: null, project: { name: ' ' } }),
      feedback({ contact: { email: 'ann@example.org', name: ' ' } }),
    )
    assert.deepEqual([contactIdOf(tables, 1), accountIdOf(tables, 1)], [null, null])
    assert.equal(contactOf(tables, ANN)?.name, null)
    assert.deepEqual([tables.account, tables.project], [[], []])
  })

  it('of an identify are kept, but claim nothing', () => {
    const tables = after(
      claiming('x', ' '),
      claiming('y', ' '),
      account({ id: 'a', properties: { $name: '', $domain: ' ' } }),
    )
    assert.deepEqual([contactOf(tables, X)?.email, contactOf(tables, Y)?.email], [' ', ' '])
    assert.deepEqual([tables.account[0]?.name, tables.account[0]?.domain], ['', ' '])
  })
})

describe('a contact with a name but no email', () => {
  it('belongs to the one record and stays with it', () => {
    const named = feedback({ source: 'crm', sourceId: 'T', contact: { name: 'Ann' } })
    const tables = after(named, named, feedback({ contact: { name: 'Ann' } }))
    const [first, other] = [idOf('feedback', 'crm', 'T'), submissionId(3)]
    assert.deepEqual(
      new Set(tables.contact.map(({ id }) => id)),
      new Set([idOf('contact_record', first), idOf('contact_record', other)]),
    )
    assert.equal(tables.feedback.find(({ id }) => id === first)?.contact_id, idOf('contact_record', first))
  })
})

describe('accounts by name and domain', () => {
  const A = idOf('account_external', 'a')
  const DOMAIN = idOf('account_domain', 'acme.example')
  const identified = (id: string, $name: string, $domain: string) => account({ id, properties: { $name, $domain } })

  it('are decided by the domain where both are given', () => {
    const tables = after(
      identified('a', 'Acme', 'a.example'),
      feedback({ account: { name: 'Acme', domain: 'ACME.example ' } }),
      feedback({ account: { name: 'Acme' } }),
    )
    assert.deepEqual([accountIdOf(tables, 2), accountIdOf(tables, 3)], [DOMAIN, A])
    assert.equal(accountOf(tables, DOMAIN)?.domain, 'ACME.example ')
  })

  it('are linked by a feedback that gives both, until an identified account claims the name', () => {
    const tables = after(
      feedback({ account: { name: 'Acme', domain: 'acme.example' } }),
      feedback({ account: { name: 'Acme', contractValue: 5 } }),
      identified('a', 'Acme', 'a.example'),
      feedback({ account: { name: 'Acme' } }),
    )
    assert.deepEqual(
      [1, 2, 4].map((number) => accountIdOf(tables, number)),
      [DOMAIN, DOMAIN, A],
    )
    assert.equal(accountOf(tables, DOMAIN)?.contract_value, 5)
    assert.equal(accountOf(tables, DOMAIN)?.updated_number, 2)
  })

  it('follow the domain of the link to whoever claims it', () => {
    const tables = after(
      feedback({ account: { name: 'Acme', domain: 'acme.example' } }),
      identified('a', 'Other', 'acme.example'),
      identified('b', 'Other', 'acme.example'),
      feedback({ account: { name: 'Acme' } }),
    )
    assert.deepEqual([accountIdOf(tables, 1), accountIdOf(tables, 4)], [A, idOf('account_external', 'b')])
  })

  it('are not linked by a reference that an id decides', () => {
    const tables = after(
      identified('a', 'Other', 'other.example'),
      feedback({ isExternalAccountId: true, accountId: 'a', account: { name: 'Acme', domain: 'acme.example' } }),
      feedback({ account: { name: 'Acme' } }),
    )
    assert.equal(accountIdOf(tables, 3), idOf('account_name', 'Acme'))
  })

  it('stay with the first link when the name is linked anew', () => {
    const tables = after(
      feedback({ account: { name: 'Acme' } }),
      feedback({ account: { name: 'Acme', domain: 'acme.example' } }),
      feedback({ account: { name: 'Acme', domain: 'new.example' } }),
      feedback({ account: { name: 'Acme' } }),
    )
    const NEW = idOf('account_domain', 'new.example')
    assert.deepEqual(
      [1, 2, 3, 4].map((number) => accountIdOf(tables, number)),
      [DOMAIN, DOMAIN, NEW, NEW],
    )
  })
})

describe('properties', () => {
  it('merge key by key at the top level after unflattening; null clears a column and is stored for other keys', () => {
    const tables = after(
      contact({
        id: 'x',
        shouldUnflattenProperties: true,
        properties: {
          $name: 'Ann',
          $contractValue: 3,
          $createdAt: '2026-01-01T01:00:00+01:00',
          'a.b': 1,
          'a.c': 2,
          plan: 1,
        },
      }),
      contact({
        id: 'x',
        properties: { $name: null, $createdAt: null, plan: null, a: { d: 1 }, 'e.f': 1, $custom: 1, $domain: 'x' },
      }),
      contact({ id: 'x', properties: null }),
    )
    const row = contactOf(tables, X)
    assert.deepEqual([row?.name, row?.contract_value, row?.source_created_at], [null, 3, null])
    assert.deepEqual(row?.properties, { a: { d: 1 }, plan: null, 'e.f': 1, $custom: 1, $domain: 'x' })
    assert.deepEqual([row?.created_number, row?.updated_number], [1, 3])
  })

  it('given by a reference fill only what no identify has set, be it to null', () => {
    const tables = after(
      contact({ id: 'x', properties: { $email: 'ann@example.org', $name: null, plan: 1 } }),
      byEmail('ann@example.org', { name: 'Ann', sourceData: { plan: 2, seats: 3, $name: 'kept apart' } }),
      byEmail('ann@example.org', { sourceData: { seats: 4 } }),
    )
    const row = contactOf(tables, X)
    assert.equal(row?.name, null)
    assert.deepEqual(row?.properties, { plan: 1, seats: 3, $name: 'kept apart' })
    assert.equal(row?.updated_number, 2)
  })
})

describe('a feedback', () => {
  it('is replaced as a whole by the next of its source id, but keeps its id and what it said of others', () => {
    const first = { sourceId: 'T', title: 'Search', tags: [' ui', 'ui', 'Speed'], rating: 4 }
    const tables = after(
      feedback({ ...first, contact: { email: 'ann@example.org' }, project: { name: 'Web' } }),
      feedback({ sourceId: 'T', source: 'API', shouldUnflattenSourceData: true, sourceData: { 'a.b': 1 } }),
      feedback({ projectId: idOf('project', 'Web'), project: { name: 'Other' }, tags: ['ui', ' ui', 'UI'] }),
    )
    assert.deepEqual(
      tables.feedback.find(({ source_id }) => source_id === 'T'),
      {
        workspace_id: workspaceId,
        id: idOf('feedback', 'API', 'T'),
        description: 'slow',
        title: null,
        is_transcript: null,
        tags: null,
        tags_generated: true,
        rating: null,
        source: 'API',
        source_id: 'T',
        source_data: { a: { b: 1 } },
        contact_id: null,
        account_id: null,
        project_id: null,
        accepted_number: 1,
        updated_number: 2,
      },
    )
    const other = tables.feedback.find(({ source_id }) => source_id === null)
    assert.deepEqual(other?.tags, ['ui', 'UI'])
    assert.equal(other?.project_id, idOf('project', 'Web'))
    assert.deepEqual(tables.project, [{ workspace_id: workspaceId, id: idOf('project', 'Web'), name: 'Web' }])
    assert.deepEqual(
      tables.feedback_category.map(({ title }) => title),
      ['UI', 'ui'],
    )
    assert.equal(tables.contact.length, 1)
  })
})

describe('a conversation', () => {
  const C = idOf('conversation', 'chat', 'C')
  const messageOf = (tables: Tables, id: string) => tables.message.find(({ external_id }) => external_id === id)
  const xIn = (source: string) => idOf('contact_external', source, 'x')

  it('replaces what it mentions and leaves the rest, also a message older than itself', () => {
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

  it('creates its contacts in its own source, but finds those without a source in all', () => {
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

  it('takes the later of two elements for one contact as a whole', () => {
    const tables = after(
      conversation({
        contacts: [
          { id: 'x', properties: { $email: 'ann@example.org', plan: 1 }, account: { id: 'a' } },
          { id: 'x', source: null, properties: { seats: 2 } },
        ],
      }),
    )
    assert.deepEqual(
      tables.contact.map(({ email, properties }) => [email, properties]),
      [[null, { seats: 2 }]],
    )
    assert.deepEqual(tables.account, [])
  })

  it('takes an element without a source for the one of its id that has one', () => {
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
    assert.equal(contactIdOf(tables, 1), xIn('crm'))
  })

  it('takes the later of two messages with one id', () => {
    const tables = after(conversation({ messages: [message('1', { sourceUrl: 'u' }), message('1', { content: 'b' })] }))
    assert.deepEqual(
      tables.message.map(({ content, source_url }) => [content, source_url]),
      [['b', null]],
    )
  })

  it('looks senders up among its contacts, in its source, in all, and links the unknown later', () => {
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
})

describe('workspaces', () => {
  it('share nothing', () => {
    const other = 'b3c54be2-54c5-4f0c-8d55-5e9b9b1f0c22'
    const tables = applyAll(hashKey, [
      ...jobs([byEmail('ann@example.org'), byExternalId('x')]),
      ...jobs([claiming('x', 'ann@example.org')], other),
    ])
    assert.deepEqual([contactIdOf(tables, 1), contactIdOf(tables, 2)], [ANN, null])
    assert.equal(tables.contact.length, 2)
  })
})

describe('whatever was submitted', () => {
  const histories = submissionHistories({ hashKey, maxLength: 40, firstNumber: 1_000 })

  it('gives the same tables in whatever order it arrives', () => {
    const arrivals = histories.chain((history) =>
      fc.tuple(fc.constant(history), fc.shuffledSubarray(history, { minLength: history.length })),
    )
    fc.assert(
      fc.property(arrivals, ([history, shuffled]) => {
        assert.deepEqual(applyAll(hashKey, shuffled), applyAll(hashKey, history))
      }),
      seeded(),
    )
  })

  it('leaves no id twice, and none that leads nowhere', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const tables = applyAll(hashKey, history)
        const ids = (rows: readonly { workspace_id: string; id: string }[]) =>
          new Set(rows.map((row) => `${row.workspace_id} ${row.id}`))
        for (const rows of [tables.contact, tables.account, tables.project, tables.feedback, tables.message]) {
          assert.equal(ids(rows).size, rows.length)
        }
        for (const { workspace_id, contact_id, account_id, project_id } of tables.feedback) {
          if (contact_id !== null) assert.ok(ids(tables.contact).has(`${workspace_id} ${contact_id}`))
          if (account_id !== null) assert.ok(ids(tables.account).has(`${workspace_id} ${account_id}`))
          if (project_id !== null) assert.ok(ids(tables.project).has(`${workspace_id} ${project_id}`))
        }
      }),
      seeded(),
    )
  })
})
