import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Submission } from '../../contract/submission.ts'
import {
  account,
  accountIdOf,
  accountOf,
  after,
  ANN,
  byEmail,
  byExternalId,
  claiming,
  contact,
  contactIdOf,
  contactOf,
  feedback,
  idOf,
  submissionId,
  workspaceId,
  X,
  Y,
} from './submissions.ts'

describe('own ids', () => {
  it('keep meaning the absorber when another contact claims the email later', () => {
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

  it('of an email mean its claimant if an answer may have had them before the claim was applied', () => {
    const seeing = (seenPosition: number): Partial<Submission> => ({ seenPosition })
    const [operation, body] = byEmail('ann@example.org')
    const tablesAfter = (seenPosition: number) =>
      after(claiming('x', 'ann@example.org'), [operation, body, seeing(seenPosition)], feedback({ contactId: ANN }))
    assert.deepEqual([contactIdOf(tablesAfter(0), 2), contactIdOf(tablesAfter(0), 3)], [X, X])
    assert.deepEqual([contactIdOf(tablesAfter(1), 2), contactIdOf(tablesAfter(1), 3)], [X, null])
  })

  it('without a record are skipped for the keys beside them', () => {
    const UNKNOWN = submissionId(99)
    const tables = after(
      contact({ id: 'x' }),
      feedback({ contactId: UNKNOWN, accountId: UNKNOWN, projectId: UNKNOWN, contact: { email: 'ann@example.org' } }),
      feedback({ contact: { id: 'stranger', email: 'ann@example.org' }, accountId: 'stranger', projectId: 'stranger' }),
      feedback({ contactId: X, contact: { email: 'ann@example.org' } }),
    )
    assert.deepEqual(
      [2, 3, 4].map((number) => contactIdOf(tables, number)),
      [ANN, ANN, X],
    )
    assert.deepEqual([tables.account, tables.project], [[], []])
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
  it('differ from own ids only by the flag, also inside of contact and account', () => {
    const A = idOf('account_external', 'a')
    const tables = after(
      contact({ id: 'x', account: { id: 'a' } }),
      feedback({ contactId: 'x', accountId: 'a' }),
      feedback({ contact: { id: X }, account: { id: A } }),
      feedback({ isExternalContactId: true, contact: { id: 'x' }, isExternalAccountId: true, account: { id: 'a' } }),
      feedback({ isExternalContactId: true, contactId: X, isExternalAccountId: true, accountId: A }),
    )
    assert.deepEqual(
      [2, 3, 4, 5].map((number) => [contactIdOf(tables, number), accountIdOf(tables, number)]),
      [
        [null, null],
        [X, A],
        [X, A],
        [null, null],
      ],
    )
  })

  it('win over the other keys of a reference, which then have no effect', () => {
    const tables = after(
      contact({ id: 'x' }),
      byExternalId('x', { contact: { email: 'ann@example.org', name: 'Ann', sourceData: { plan: 1 } } }),
      feedback({ isExternalContactId: true, contact: { id: 'x', email: 'ann@example.org' } }),
    )
    assert.deepEqual([contactIdOf(tables, 2), contactIdOf(tables, 3)], [X, X])
    assert.equal(tables.contact.length, 1)
    assert.deepEqual(contactOf(tables, X)?.properties, {})
  })

  it('fall back from contactId to contact.id, and the last one is remembered', () => {
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
    assert.equal(accountIdOf(tables, 1), id)
    assert.equal(contactOf(tables, idOf('contact_external', 'crm', 'x'))?.account_id, id)
    assert.deepEqual([accountOf(tables, id)?.created_number, accountOf(tables, id)?.updated_number], [2, 3])
  })
})

describe('blank keys', () => {
  it('name no contact and fill nothing', () => {
    const tables = after(
      feedback({ contact: { email: ' ', name: '', sourceData: { plan: 1 } }, account: { name: '', domain: ' ' } }),
      feedback({ contact: null, account: null, project: { name: ' ' } }),
      feedback({ contact: { email: 'ann@example.org', name: ' ' } }),
    )
    assert.deepEqual([contactIdOf(tables, 1), accountIdOf(tables, 1)], [null, null])
    assert.equal(contactOf(tables, ANN)?.name, null)
    assert.deepEqual([tables.account, tables.project], [[], []])
  })

  it('may be placeholders', () => {
    const tables = after(
      feedback({ contact: { email: 'N/A', name: 'undefined' }, account: { name: 'none' }, project: { name: ' NULL' } }),
      claiming('x', 'n/a'),
      claiming('y', 'N/A'),
      byEmail('ann@example.org', { name: 'unknown' }),
    )
    assert.deepEqual([contactIdOf(tables, 1), accountIdOf(tables, 1), tables.project], [null, null, []])
    assert.deepEqual([contactOf(tables, X)?.email, contactOf(tables, Y)?.email], ['n/a', 'N/A'])
    assert.equal(contactOf(tables, ANN)?.name, null)
  })
})
