import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  account,
  accountIdsOf,
  accountOf,
  after,
  ANN,
  byEmail,
  byExternalId,
  claiming,
  contact,
  contactIdsOf,
  contactOf,
  feedback,
  idOf,
  submissionId,
  workspaceId,
  X,
  Y,
} from './submissions.ts'

describe('own ids', () => {
  it('of an absorbed contact keep their meaning when another contact claims the email', () => {
    const tables = after(
      byEmail('ann@example.org'),
      feedback({ contactId: ANN.toUpperCase() }),
      claiming('x', 'ann@example.org'),
      claiming('y', 'ann@example.org'),
      feedback({ contact: { id: ANN } }),
    )
    assert.deepEqual(contactIdsOf(tables, 1, 2, 5), [X, X, X])
  })

  it('of an email mean its claimant if an answer may have had them before the claim was applied', () => {
    const [operation, body] = byEmail('ann@example.org')
    const tablesAfter = (seenPosition: number) =>
      after(claiming('x', 'ann@example.org'), [operation, body, { seenPosition }], feedback({ contactId: ANN }))
    assert.deepEqual(contactIdsOf(tablesAfter(0), 2, 3), [X, X])
    assert.deepEqual(contactIdsOf(tablesAfter(1), 2, 3), [X, null])
  })

  it('without a record are skipped, and the other keys of the reference count', () => {
    const UNKNOWN = submissionId(99)
    const tables = after(
      contact({ id: 'x' }),
      feedback({ contactId: UNKNOWN, accountId: UNKNOWN, projectId: UNKNOWN, contact: { email: 'ann@example.org' } }),
      feedback({ contact: { id: 'stranger', email: 'ann@example.org' }, accountId: 'stranger', projectId: 'stranger' }),
      feedback({ contactId: X, contact: { email: 'ann@example.org' } }),
    )
    assert.deepEqual(contactIdsOf(tables, 2, 3, 4), [ANN, ANN, X])
    assert.deepEqual([tables.account, tables.project], [[], []])
  })

  it('of accounts by name and by domain mean the account that absorbed both', () => {
    const tables = after(
      feedback({ account: { name: 'Acme' } }),
      feedback({ account: { name: 'Acme', domain: 'acme.example' } }),
      account({ id: 'a', properties: { $name: 'Other', $domain: 'acme.example' } }),
      feedback({ accountId: idOf('account_name', 'Acme') }),
      feedback({ accountId: idOf('account_domain', 'acme.example') }),
    )
    assert.deepEqual(new Set(accountIdsOf(tables, 1, 2, 4, 5)), new Set([idOf('account_external', 'a')]))
  })
})

describe('external ids', () => {
  it('differ from own ids only by the flag, also inside of contact and account', () => {
    const A = idOf('account_external', 'a')
    const tables = after(
      contact({ id: 'x', account: { id: 'a' } }),
      feedback({ contactId: 'x', accountId: 'a' }),
      feedback({ contact: { id: X }, account: { id: A } }),
      feedback({ isExternalContactId: true, contact: { id: 'x' }, isExternalAccountId: true, account: { id: 'a' } }),
      feedback({ isExternalContactId: true, contactId: X, isExternalAccountId: true, accountId: A }),
    )
    assert.deepEqual(contactIdsOf(tables, 2, 3, 4, 5), [null, X, X, null])
    assert.deepEqual(accountIdsOf(tables, 2, 3, 4, 5), [null, A, A, null])
  })

  it('win over the other keys of a reference, which then have no effect', () => {
    const tables = after(
      contact({ id: 'x' }),
      byExternalId('x', { contact: { email: 'ann@example.org', name: 'Ann', sourceData: { plan: 1 } } }),
      feedback({ isExternalContactId: true, contact: { id: 'x', email: 'ann@example.org' } }),
    )
    assert.deepEqual(contactIdsOf(tables, 2, 3), [X, X])
    assert.equal(tables.contact.length, 1)
    assert.deepEqual(contactOf(tables, X)?.properties, {})
  })

  it('fall back from contactId to contact.id, which is remembered if both are unknown', () => {
    const tables = after(
      contact({ id: 'y' }),
      byExternalId('x', { contact: { id: 'y' } }),
      byExternalId('p', { contact: { id: 'q', email: ' ' } }),
      contact({ id: 'p' }),
      contact({ id: 'q' }),
    )
    assert.deepEqual(contactIdsOf(tables, 2, 3), [Y, idOf('contact_external', 'API', 'q')])
  })

  it('of accounts are the same in all sources, and belong to the source of the first identify', () => {
    const tables = after(
      feedback({ isExternalAccountId: true, accountId: 'a' }),
      contact({ id: 'x', source: 'crm', account: { id: 'a' } }),
      account({ id: 'a' }),
    )
    const id = idOf('account_external', 'a')
    assert.deepEqual(tables.account_external_id, [
      { workspace_id: workspaceId, source: 'crm', external_id: 'a', account_id: id },
    ])
    assert.deepEqual(accountIdsOf(tables, 1), [id])
    assert.equal(contactOf(tables, idOf('contact_external', 'crm', 'x'))?.account_id, id)
    assert.deepEqual([accountOf(tables, id)?.created_number, accountOf(tables, id)?.updated_number], [2, 3])
  })
})

describe('blank keys and placeholders', () => {
  it('name no contact, account or project, and fill nothing', () => {
    const tables = after(
      feedback({ contact: { email: ' ', name: '', sourceData: { plan: 1 } }, account: { name: '', domain: ' ' } }),
      feedback({ contact: { email: 'N/A', name: 'undefined' }, account: { name: 'none' }, project: { name: ' NULL' } }),
      feedback({ contact: null, account: null, project: { name: ' ' } }),
      byEmail('ann@example.org', { name: ' ' }),
      byEmail('ann@example.org', { name: 'unknown' }),
      claiming('x', 'n/a'),
      claiming('y', 'N/A'),
    )
    assert.deepEqual(contactIdsOf(tables, 1, 2, 3, 4), [null, null, null, ANN])
    assert.deepEqual([tables.account, tables.project], [[], []])
    assert.equal(contactOf(tables, ANN)?.name, null)
    assert.deepEqual([contactOf(tables, X)?.email, contactOf(tables, Y)?.email], ['n/a', 'N/A'])
  })

  it('of emails that are no addresses stay in the column, and link no records', () => {
    const tables = after(
      byEmail('keine'),
      byEmail('keine', { name: 'Ann' }),
      byEmail('null@null'),
      claiming('x', 'keine'),
      byEmail('{{ticket.requester.email}}'),
    )
    const own = contactIdsOf(tables, 1, 2, 3)
    assert.equal(new Set(own).size, 3)
    assert.deepEqual(contactIdsOf(tables, 5), [null])
    assert.deepEqual(
      own.map((id) => contactOf(tables, id!)?.email),
      ['keine', 'keine', 'null@null'],
    )
    assert.equal(contactOf(tables, X)?.email, 'keine')
  })
})
