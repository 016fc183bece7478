import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { keysOf, type Names, namesIn } from '../../../contract/identity/names.ts'
import { hashKeyFrom, ownId } from '../../../contract/identity/own-id.ts'
import { contactGroup, contactKey } from '../../../contract/identity/reference.ts'
import { JOB_VERSION, type Operation, submissionJob } from '../../../contract/job.ts'

const realm = { hashKey: hashKeyFrom(randomBytes(32).toString('hex')), workspaceId: randomUUID() }
const group = (id: string): string => contactGroup(realm, id)
const key = (source: string, id: string): string => contactKey(realm, source, id)
const email = (address: string): string => ownId(realm, 'contact_email', address)

const namesOf = (operation: Operation, body: object): Names => {
  const { workspaceId } = realm
  const job = { version: JOB_VERSION, workspaceId, submissionId: randomUUID(), number: 1, operation, body }
  return namesIn(realm, v.parse(submissionJob, job))
}

describe('the names in a submission', () => {
  it('are the email and the own ids of a feedback', () => {
    const id = randomUUID()
    assert.deepEqual(namesOf('create_feedback', { description: 'x', contactId: id, contact: { email: 'a@b' } }), {
      exact: [id, email('a@b')],
      anySource: [],
      oneSource: [],
    })
  })

  it('are external ids of a feedback: in its own source, and in any', () => {
    const names = namesOf('create_feedback', {
      description: 'x',
      source: 'shop',
      contactId: '7',
      isExternalContactId: true,
    })
    assert.deepEqual(names, { exact: [key('shop', '7')], anySource: [group('7')], oneSource: [] })
  })

  it('are those of an identified contact, whose source is one, or left open', () => {
    const properties = { $email: 'A@b ' }
    assert.deepEqual(namesOf('identify_contact', { id: '7', source: 'shop', properties }), {
      exact: [key('shop', '7'), email('a@b')],
      anySource: [],
      oneSource: [group('7')],
    })
    assert.deepEqual(namesOf('identify_contact', { id: '7' }), {
      exact: [key('API', '7')],
      anySource: [group('7')],
      oneSource: [],
    })
  })

  it('are those that a purge asks for', () => {
    assert.deepEqual(namesOf('purge_contact', { id: '7', email: 'a@b', source: 'shop' }), {
      exact: [email('a@b'), key('shop', '7')],
      anySource: [],
      oneSource: [group('7')],
    })
    assert.deepEqual(namesOf('purge_contact', { id: '7' }), { exact: [], anySource: [group('7')], oneSource: [] })
  })

  it('are the contacts of a conversation and all senders, also of a message that a later one of the same id replaces', () => {
    const message = { id: 'm', incoming: true, content: 'x', createdAt: '2026-01-01T00:00:00Z' }
    const names = namesOf('submit_conversation', {
      id: 'c',
      source: 'chat',
      createdAt: '2026-01-01T00:00:00Z',
      contacts: [{ id: '1' }, { id: '1', source: 'shop' }],
      messages: [
        { ...message, contactId: '2' },
        { ...message, contactId: '1' },
      ],
    })
    assert.deepEqual(new Set(names.exact), new Set([key('shop', '1'), key('chat', '2')]))
    assert.deepEqual(names.anySource, [group('2')])
    assert.deepEqual(keysOf(names).toSorted(), [key('shop', '1'), key('chat', '2'), group('1'), group('2')].toSorted())
  })
})
