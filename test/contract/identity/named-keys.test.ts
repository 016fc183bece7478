import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { keysOf, type NamedKey, type Naming } from '../../../contract/identity/named-keys.ts'

const OWN_ID = 'F0000000-0000-8000-8000-00000000000F'

/** The named keys, each as `role kind value` with the flags that are set. */
const named = (operation: Naming['operation'], body: object): string[] =>
  keysOf({ operation, body } as Naming).map((key) => {
    const flags = Object.entries(key).flatMap(([name, value]) => (value === true ? name : []))
    return [key.role, key.kind, ...valueOf(key), ...flags].join(' ')
  })

const valueOf = (key: NamedKey): string[] => {
  switch (key.kind) {
    case 'contactExternalId':
      return [key.externalId, `in ${key.source}`]
    case 'accountExternalId':
      return [key.externalId]
    case 'email':
      return [key.email]
    case 'domain':
      return [key.domain]
    case 'accountName':
    case 'projectName':
      return [key.name]
    case 'contactId':
    case 'accountId':
    case 'projectId':
      return [key.id]
    case 'contactName':
      return []
  }
}

describe('the keys that a submission names', () => {
  it('are external ids, emails, domains and names, for a feedback', () => {
    const body = {
      source: 'CRM',
      isExternalContactId: true,
      contactId: 'ada',
      contact: { id: 'bob', email: 'A@x.example', name: 'Ada', sourceData: { plan: 'pro' } },
      isExternalAccountId: true,
      accountId: 'acme',
      account: { domain: 'www.Acme.example', name: ' Acme ' },
      project: { name: 'Search' },
    }
    assert.deepEqual(named('create_feedback', body), [
      'refer contactExternalId ada in CRM isOpen',
      'refer contactExternalId bob in CRM isOpen',
      'refer email a@x.example fillsMetadata',
      'refer accountExternalId acme',
      'refer domain acme.example',
      'refer accountName Acme hasDomain',
      'refer projectName Search',
    ])
  })

  it('are own ids in lower case, for a feedback; another text names nothing', () => {
    const body = { contactId: OWN_ID, contact: { id: 'x' }, account: { id: OWN_ID }, projectId: OWN_ID }
    const id = OWN_ID.toLowerCase()
    assert.deepEqual(named('create_feedback', body), [
      `refer contactId ${id}`,
      `refer accountId ${id}`,
      `refer projectId ${id}`,
    ])
  })

  it('are a contact of the feedback itself, for a name alone or an email that is no address', () => {
    assert.deepEqual(named('create_feedback', { contact: { name: 'Ada' } }), ['refer contactName'])
    assert.deepEqual(named('create_feedback', { contact: { email: 'keine' } }), ['refer contactName'])
    assert.deepEqual(named('create_feedback', { contact: { email: '\\N' } }), [])
    assert.deepEqual(named('create_feedback', { contact: { name: 'unknown' }, account: { name: ' ' } }), [])
  })

  it('are those of the contact and its account, for an identify', () => {
    const body = {
      id: 'ada',
      properties: { $email: 'a@x.example', $updatedAt: '2026-01-01T00:00:00Z' },
      account: { id: 'acme', properties: { $name: 'Acme', $domain: 'acme.example' } },
    }
    assert.deepEqual(named('identify_contact', body), [
      'identify contactExternalId ada in API isOpen isVersioned',
      'identify email a@x.example',
      'identify accountExternalId acme',
      'identify domain acme.example',
      'identify accountName Acme hasDomain',
    ])
    const nameless = { id: 'ada', source: 'CRM', properties: { $email: 'keine' } }
    assert.deepEqual(named('identify_contact', nameless), ['identify contactExternalId ada in CRM'])
    assert.deepEqual(named('identify_contact', { id: 'ada', source: 'CRM' }), ['identify contactExternalId ada in CRM'])
    assert.deepEqual(named('identify_account', body.account), named('identify_contact', body).slice(2))
  })

  it('are its contacts and its other senders, for a conversation', () => {
    const body = {
      source: 'Chat',
      contacts: [{ id: 'ada', source: 'CRM' }, { id: 'ada' }, { id: 'bob' }],
      messages: [{ contactId: 'ada' }, { contactId: 'eve' }, { contactId: 'eve' }, { contactId: 'null' }, {}],
    }
    assert.deepEqual(named('submit_conversation', body), [
      'identify contactExternalId ada in CRM',
      'identify contactExternalId ada in CRM',
      'identify contactExternalId bob in Chat isOpen',
      'refer contactExternalId eve in Chat isOpen',
    ])
  })

  it('are the identifiers, for a purge', () => {
    assert.deepEqual(named('purge_contact', { id: 'ada', email: 'A@x.example' }), [
      'purge contactExternalId ada in API isOpen',
      'purge email a@x.example',
    ])
    assert.deepEqual(named('purge_contact', { id: 'ada', source: 'CRM' }), ['purge contactExternalId ada in CRM'])
  })
})
