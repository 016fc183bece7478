import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { idOfEpoch } from '../../contract/identity/keys.ts'
import {
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
  purging,
  submissionId,
  workspaceId,
  X,
  Y,
} from './submissions.ts'

describe('a contact known by its email', () => {
  it('merges with all its data into the first contact that claims the email', () => {
    const tables = after(
      byEmail('ann@example.org', { name: 'Ann', sourceData: { plan: 'a', seats: 1 } }),
      contact({ id: 'x', properties: { $email: 'ann@example.org', plan: 'b' } }),
      byEmail('ann@example.org'),
    )
    assert.deepEqual(contactIdsOf(tables, 1, 3), [X, X])
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
        listed_number: 2,
        updated_number: 2,
      },
    ])
  })

  it('merges into the first of two claimants; later records belong to the second', () => {
    const tables = after(
      byEmail('ann@example.org'),
      claiming('x', 'ann@example.org'),
      byEmail('ann@example.org'),
      claiming('y', 'ann@example.org'),
      byEmail('ann@example.org'),
    )
    assert.deepEqual(contactIdsOf(tables, 1, 3, 5), [X, X, Y])
    assert.equal(tables.contact.length, 2)
  })
})

describe('a contact with a name but no email', () => {
  it('belongs only to its record and stays with it', () => {
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

describe('a late claim', () => {
  const late = (id: string, $email: string) =>
    contact({ id, properties: { $email, $updatedAt: '2026-01-01T00:00:00Z' } })
  const newer = contact({ id: 'x', properties: { $updatedAt: '2026-02-01T00:00:00Z', $email: 'x@example.org' } })

  it('takes effect while the email is unclaimed, although the column keeps its value', () => {
    const tables = after(byEmail('ann@example.org'), newer, late('x', 'ann@example.org'))
    assert.deepEqual(contactIdsOf(tables, 1), [X])
    assert.equal(contactOf(tables, X)?.email, 'x@example.org')
  })

  it('leaves a claimed email with its claimant', () => {
    const tables = after(
      newer,
      claiming('y', 'ann@example.org'),
      late('x', 'ann@example.org'),
      byEmail('ann@example.org'),
    )
    assert.deepEqual(contactIdsOf(tables, 4), [Y])
  })
})

describe('a purge', () => {
  it('by email removes the contact of the email, and each contact whose column has any form of it', () => {
    const tables = after(
      claiming('x', 'ann@example.org'),
      claiming('y', 'ann@example.org'),
      claiming('z', 'ann@example.org'),
      claiming('x', 'new@example.org'),
      byExternalId('y'),
      purging({ email: 'Ann <ANN@example.org>' }),
      byEmail('ann@example.org'),
    )
    assert.deepEqual(
      tables.contact.map(({ id }) => id),
      [X],
    )
    // An earlier claim holds again, so the email gets no new epoch.
    assert.deepEqual(contactIdsOf(tables, 7), [X])
  })

  it('raises the epoch of each key that it removes', () => {
    const tables = after(
      claiming('x', 'ann@example.org'),
      purging({ id: 'x' }),
      byEmail('ann@example.org'),
      contact({ id: 'x' }),
      purging({ id: 'x' }),
      purging({ email: 'ann@example.org', source: 'API' }),
      contact({ id: 'x' }),
      byEmail('ann@example.org'),
      feedback({ contactId: X }),
    )
    assert.deepEqual(contactIdsOf(tables, 8, 9), [idOfEpoch(ANN, 2), null])
    assert.deepEqual(
      tables.contact_external_id.map(({ contact_id }) => contact_id),
      [idOfEpoch(X, 2)],
    )
  })
})
