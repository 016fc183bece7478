import * as fc from 'fast-check'
import type { FeedbackRecord } from '../../contract/feedback-record.ts'
import {
  canonicalDomain,
  canonicalEmail,
  canonicalName,
  idOfEpoch,
  ownId,
  type Realm,
} from '../../contract/identity/keys.ts'
import {
  body,
  dateTime,
  domain,
  DOMAINS,
  email,
  EMAILS,
  EXTERNAL_IDS,
  externalId,
  flag,
  free,
  name,
  NAMES,
  nullOr,
  number,
  oneOf,
  source,
  SOURCE_IDS,
  SOURCES,
} from './drawn-values.ts'
import { withMany } from './many-keys.ts'

/** Arbitraries of own ids that records of a history may name. */
type OwnIds = { contact: fc.Arbitrary<string>; account: fc.Arbitrary<string>; project: fc.Arbitrary<string> }

/**
 * Bodies of create-feedback. `submissionIds` are those of the first submissions of the workspace.
 */
export const feedbackIn = (realm: Realm, submissionIds: readonly string[]): fc.Arbitrary<object> => {
  const own = ownIds(realm, submissionIds)
  return fc
    .tuple(feedbackItself, contactOf(own.contact), accountOf(own.account), projectOf(own.project))
    .map((parts) => Object.assign({}, ...parts) as object)
}

type Naming = `${'contact' | 'account' | 'project'}${'' | 'Id'}` | `isExternal${string}`

/** The members that name no other record. The compiler finds a missing one. */
const feedbackItself = body(
  {
    description: oneOf(['slow', 'lovely']),
    title: nullOr(oneOf(['Search', 'Export'])),
    isTranscript: flag,
    tags: nullOr(fc.array(oneOf(['ui', ' ui', 'speed', 'UI']), { maxLength: 3 })),
    source: nullOr(source),
    sourceId: nullOr(oneOf(SOURCE_IDS)),
    shouldUnflattenSourceData: flag,
    sourceData: nullOr(free),
    rating: nullOr(number),
    createdAt: nullOr(dateTime),
  } satisfies Record<Exclude<keyof FeedbackRecord, Naming>, unknown>,
  ['description'],
)

/** Usually one way to name the contact; sometimes several that may contradict each other. */
const contactOf = (own: fc.Arbitrary<string>): fc.Arbitrary<object> => {
  const weak = { name, email, sourceData: nullOr(withMany(free)) }
  const anyId = fc.oneof(externalId, own)
  const byExternalId = { isExternalContactId: fc.constant(true), contactId: externalId }
  const contradictory = {
    isExternalContactId: fc.boolean(),
    contactId: nullOr(anyId),
    contact: nullOr(body({ ...weak, id: anyId }, [])),
  }
  return fc.oneof(
    { weight: 5, arbitrary: body({ contact: body(weak, []) }, ['contact']) },
    { weight: 3, arbitrary: body(byExternalId, ['isExternalContactId', 'contactId']) },
    { weight: 2, arbitrary: body({ isExternalContactId: fc.constant(false), contactId: own }, ['contactId']) },
    { weight: 3, arbitrary: body(contradictory, []) },
  )
}

const accountOf = (own: fc.Arbitrary<string>): fc.Arbitrary<object> => {
  const weak = { name, domain, contractValue: nullOr(number), sourceData: nullOr(withMany(free)) }
  const anyId = fc.oneof(externalId, own)
  const byExternalId = { isExternalAccountId: fc.constant(true), accountId: externalId }
  const contradictory = {
    isExternalAccountId: fc.boolean(),
    accountId: nullOr(anyId),
    account: nullOr(body({ ...weak, id: anyId }, [])),
  }
  return fc.oneof(
    { weight: 5, arbitrary: body({ account: body(weak, []) }, ['account']) },
    { weight: 3, arbitrary: body(byExternalId, ['isExternalAccountId', 'accountId']) },
    { weight: 2, arbitrary: body({ isExternalAccountId: fc.constant(false), accountId: own }, ['accountId']) },
    { weight: 3, arbitrary: body(contradictory, []) },
  )
}

const projectOf = (own: fc.Arbitrary<string>): fc.Arbitrary<object> =>
  body({ project: nullOr(body({ id: own, name }, [])), projectId: nullOr(own) }, [])

/**
 * Ids that a record may have by then, also after a purge, ids that no record ever has, and a
 * malformed id.
 */
const ownIds = (realm: Realm, submissionIds: readonly string[]): OwnIds => {
  const unknown = ['4f6b0f0e-8f0a-4b61-9d0b-3f3c1f2f9b77', 'no-id']
  const records = [
    ...submissionIds,
    ...['API', 'crm'].flatMap((from) => SOURCE_IDS.map((id) => ownId(realm, 'feedback', from, id))),
  ]
  const emails = EMAILS.map((given) => ownId(realm, 'contact_email', canonicalEmail(given)!))
  const external = SOURCES.flatMap((from) => EXTERNAL_IDS.map((id) => ownId(realm, 'contact_external', from, id)))
  const names = NAMES.map((given) => ownId(realm, 'account_name', canonicalName(given)!))
  const domains = DOMAINS.map((given) => ownId(realm, 'account_domain', canonicalDomain(given)!))
  const projects = NAMES.map((given) => ownId(realm, 'project', canonicalName(given)!))
  return {
    contact: fc.oneof(
      { weight: 4, arbitrary: oneOf(emails) },
      { weight: 3, arbitrary: oneOf(external) },
      { weight: 2, arbitrary: oneOf(records.map((id) => ownId(realm, 'contact_record', id))) },
      { weight: 1, arbitrary: oneOf([...emails, ...external].map((id) => idOfEpoch(id, 1))) },
      // The case of ids does not matter.
      { weight: 1, arbitrary: oneOf([...unknown, ...domains, ...emails.map((id) => id.toUpperCase())]) },
    ),
    account: fc.oneof(
      { weight: 2, arbitrary: oneOf(names) },
      { weight: 2, arbitrary: oneOf(domains) },
      { weight: 2, arbitrary: oneOf(EXTERNAL_IDS.map((id) => ownId(realm, 'account_external', id))) },
      { weight: 1, arbitrary: oneOf([...unknown, ...emails, ...names.map((id) => id.toUpperCase())]) },
    ),
    project: oneOf([...projects, ...unknown, ...domains]),
  }
}
