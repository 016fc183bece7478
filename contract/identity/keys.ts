import { ownId, type Realm } from './own-id.ts'

// Keys of contacts, accounts and projects, as own ids of epoch 0.

/** An external id of a contact, in all sources. */
export const contactIdKey = (realm: Realm, externalId: string): string => ownId(realm, 'contact_bare', externalId)

/** An external id of a contact in one source. */
export const contactSourceKey = (realm: Realm, source: string, externalId: string): string =>
  ownId(realm, 'contact_external', source, externalId)

/** @param email in canonical form */
export const emailKey = (realm: Realm, email: string): string => ownId(realm, 'contact_email', email)

/** A contact with a name alone belongs to one feedback. */
export const recordContactKey = (realm: Realm, feedbackId: string): string => ownId(realm, 'contact_record', feedbackId)

/** External ids of accounts are the same in all sources. */
export const accountIdKey = (realm: Realm, externalId: string): string => ownId(realm, 'account_external', externalId)

/** @param domain in canonical form */
export const domainKey = (realm: Realm, domain: string): string => ownId(realm, 'account_domain', domain)

/** @param name in canonical form */
export const accountNameKey = (realm: Realm, name: string): string => ownId(realm, 'account_name', name)

/** @param name in canonical form */
export const projectKey = (realm: Realm, name: string): string => ownId(realm, 'project', name)
