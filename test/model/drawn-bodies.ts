import * as fc from 'fast-check'
import type { FeedbackRecord } from '../../contract/feedback-record.ts'
import { idOfEpoch, ownId, type Realm } from '../../contract/identity/keys.ts'
import { domainKey, emailKey, nameKey } from './plain-keys.ts'
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
  SOURCES,
  value,
  withMany,
} from './drawn-values.ts'

const SOURCE_IDS = ['T-1', 'T-2', 'T-3']

const instants = { $createdAt: nullOr(dateTime), $updatedAt: nullOr(dateTime), $contractValue: nullOr(number) }
const metadata = { plan: value, 'a.b': value, 'a.c': value, a: value, $plan: value, ['__proto__']: value }

export const account = body(
  {
    id: externalId,
    shouldUnflattenProperties: flag,
    properties: withMany(
      body({ $name: name, $domain: domain, $email: email, ...instants, ...metadata }, ['$name', '$domain']),
    ),
  },
  ['id'],
)

export const contact = body(
  {
    id: externalId,
    shouldUnflattenProperties: flag,
    properties: nullOr(
      withMany(body({ $email: nullOr(email), $name: nullOr(name), $domain: domain, ...instants, ...metadata }, [])),
    ),
    account: nullOr(account),
    source: nullOr(source),
  },
  ['id'],
)

const message = body(
  {
    id: oneOf(['m-1', 'm-2', 'm-3']),
    incoming: fc.boolean(),
    contactId: fc.oneof(
      { weight: 8, arbitrary: externalId },
      { weight: 1, arbitrary: oneOf(['undefined', ' null', '\\N', '{{ticket.requester.id}}']) },
    ),
    content: oneOf(['hello', 'thanks']),
    createdAt: dateTime,
    shouldUnflattenProperties: flag,
    properties: free,
    sourceUrl: nullOr(oneOf(['https://desk.example/1'])),
  },
  ['id', 'incoming', 'content', 'createdAt'],
)

export const conversation = body(
  {
    id: oneOf(['C-1', 'C-2']),
    title: nullOr(oneOf(['Call', 'Chat'])),
    source,
    createdAt: dateTime,
    updatedAt: nullOr(dateTime),
    contacts: fc.array(contact, { maxLength: 4 }),
    messages: fc.array(message, { maxLength: 4 }),
    rating: nullOr(number),
    shouldUnflattenProperties: flag,
    propagatePropertiesToMessages: flag,
    properties: free,
  },
  ['id', 'source', 'createdAt', 'contacts', 'messages'],
)

/** By id, by email or by both. */
export const purge = fc.oneof(
  body({ id: externalId, source: nullOr(source) }, ['id']),
  body({ id: externalId, email: oneOf([...EMAILS, 'Ann <ANN@example.org>']), source: nullOr(source) }, ['email']),
)

/** Bodies of feedback. `submissionIds`: the ids of the first submissions of the workspace. */
export const feedbackIn = (realm: Realm, submissionIds: readonly string[]): fc.Arbitrary<object> => {
  const own = ownIds(realm, submissionIds)
  return fc
    .tuple(
      feedbackItself,
      referenceTo('Contact', own.contact, { name, email, sourceData: nullOr(withMany(free)) }),
      referenceTo('Account', own.account, {
        name,
        domain,
        contractValue: nullOr(number),
        sourceData: nullOr(withMany(free)),
      }),
      body({ project: nullOr(body({ id: own.project, name }, [])), projectId: nullOr(own.project) }, []),
    )
    .map((parts) => Object.assign({}, ...parts) as object)
}

/** The id of no record. */
export const UNKNOWN_ID = '4f6b0f0e-8f0a-4b61-9d0b-3f3c1f2f9b77'

/** One of the latest feedback and themes of the history, and none (`namingLatest`). */
const latestFeedback = oneOf(['feedback 0', 'feedback 1', 'feedback 2', UNKNOWN_ID])
const latestTheme = oneOf(['theme 0', 'theme 1', 'theme 2', UNKNOWN_ID])

/** Corrections of some of the feedback above, of no feedback, and undone ones. */
export const correctionIn = (realm: Realm, submissionIds: readonly string[]): fc.Arbitrary<object> =>
  body(
    {
      id: oneOf([...recordIds(realm, submissionIds), UNKNOWN_ID]),
      tags: fc.option(tags, { freq: 2 }),
      rating: fc.option(number, { freq: 2 }),
      isHidden: fc.option(fc.boolean(), { freq: 2 }),
      kind: fc.option(oneOf(['problem', 'praise']), { freq: 2 }),
      themeId: fc.option(latestTheme, { freq: 2 }),
    },
    ['id'],
  ).map((drawn) => (Object.keys(drawn).length > 1 ? drawn : { ...drawn, isHidden: null }))

const themeName = oneOf(['Login', ' Speed ', 'Login'])

const feedbackIds = fc.array(latestFeedback, { minLength: 1, maxLength: 3 })

export const newTheme: fc.Arbitrary<object> = body({ name: themeName, feedbackIds }, ['name', 'feedbackIds'])

export const themeEdit: fc.Arbitrary<object> = body(
  {
    id: latestTheme,
    name: fc.option(themeName),
    isHidden: fc.option(fc.boolean()),
    mergedInto: fc.option(latestTheme),
    feedbackIds: fc.option(feedbackIds),
    removedFeedbackIds: fc.option(feedbackIds),
  },
  ['id', 'name'],
)

/** Deletions of some of the feedback above, and of no feedback. */
export const deletionIn = (realm: Realm, submissionIds: readonly string[]): fc.Arbitrary<object> =>
  body({ id: oneOf([...recordIds(realm, submissionIds), UNKNOWN_ID]) }, ['id'])

type Naming = `${'contact' | 'account' | 'project'}${'' | 'Id'}` | `isExternal${string}`

const tags = fc.array(oneOf(['ui', ' ui', 'speed', 'UI']), { maxLength: 3 })

/** The members that name no other record. The compiler finds a missing one. */
const feedbackItself = body(
  {
    description: oneOf(['slow', 'lovely']),
    title: nullOr(oneOf(['Search', 'Export'])),
    isTranscript: flag,
    tags: nullOr(tags),
    source: nullOr(source),
    sourceId: nullOr(oneOf(SOURCE_IDS)),
    shouldUnflattenSourceData: flag,
    sourceData: nullOr(free),
    rating: nullOr(number),
    createdAt: nullOr(dateTime),
  } satisfies Record<Exclude<keyof FeedbackRecord, Naming>, unknown>,
  ['description'],
)

/** Usually draws one name of the record, and sometimes several names that contradict. */
const referenceTo = (
  kind: 'Contact' | 'Account',
  own: fc.Arbitrary<string>,
  weak: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<object> => {
  const [record, id, isExternal] = [kind.toLowerCase(), `${kind.toLowerCase()}Id`, `isExternal${kind}Id`]
  const anyId = fc.oneof(externalId, own)
  const contradictory = {
    [isExternal]: fc.boolean(),
    [id]: nullOr(anyId),
    [record]: nullOr(body({ ...weak, id: anyId }, [])),
  }
  return fc.oneof(
    { weight: 5, arbitrary: body({ [record]: body(weak, []) }, [record]) },
    { weight: 3, arbitrary: body({ [isExternal]: fc.constant(true), [id]: externalId }, [isExternal, id]) },
    { weight: 2, arbitrary: body({ [isExternal]: fc.constant(false), [id]: own }, [id]) },
    { weight: 3, arbitrary: body<Record<string, unknown>, string>(contradictory, []) },
  )
}

/** Also ids that follow a deletion. */
const recordIds = (realm: Realm, submissionIds: readonly string[]): string[] => {
  const keys = ['API', 'crm'].flatMap((from) => SOURCE_IDS.map((id) => ownId(realm, 'feedback', from, id)))
  return [...submissionIds, ...keys, ...keys.map((key) => idOfEpoch(key, 1))]
}

/** Own ids of drawn records, also after a purge, ids of no record, and a malformed id. */
const ownIds = (realm: Realm, submissionIds: readonly string[]) => {
  const unknown = [UNKNOWN_ID, 'no-id']
  const records = recordIds(realm, submissionIds)
  const emails = EMAILS.map((given) => ownId(realm, 'contact_email', emailKey(given)!))
  const external = SOURCES.flatMap((from) => EXTERNAL_IDS.map((id) => ownId(realm, 'contact_external', from, id)))
  const names = NAMES.map((given) => ownId(realm, 'account_name', nameKey(given)!))
  const domains = DOMAINS.map((given) => ownId(realm, 'account_domain', domainKey(given)!))
  const projects = NAMES.map((given) => ownId(realm, 'project', nameKey(given)!))
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
