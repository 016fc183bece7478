import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  after,
  ANN,
  byEmail,
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
