import * as fc from 'fast-check'
import * as v from 'valibot'
import { JOB_VERSION, submissionJob, type SubmissionJob } from '../../contract/job.ts'
import { ownId, type HashKey, type Realm } from '../../contract/identity/own-id.ts'
import { withMany } from './many-keys.ts'
import { withRepetitions } from './repetitions.ts'

/** So few of everything that histories keep coming back to the same contacts and records. */
const EXTERNAL_IDS = ['1', '2', '3']
const SOURCES = ['API', 'crm', 'desk']
const EMAILS = ['ann@example.org', 'bob@example.org', 'user-7']
const NAMES = ['Ann', 'Bob', 'Acme']
const DOMAINS = ['acme.example', 'bob.example', 'intranet']
const SOURCE_IDS = ['T-1', 'T-2', 'T-3']
const CONVERSATION_IDS = ['C-1', 'C-2']
const MESSAGE_IDS = ['m-1', 'm-2', 'm-3']

const DEFAULT_WORKSPACES = ['6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a01', '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a02']
const DEFAULT_MAX_LENGTH = 30
const FIRST_WORKSPACE_WEIGHT = 4

export type HistoryOptions = {
  /** Own ids that occur in the histories are made with it. */
  hashKey: HashKey
  workspaceIds?: readonly string[]
  maxLength?: number
  /** Of each workspace; the following ones are consecutive. */
  firstNumber?: number
  /** Purges among them, too. */
  purges?: boolean
}

/** Submissions of all operations, purges if they are asked for, in the order of acceptance. Every body has passed its schema. */
export const submissionHistories = ({
  hashKey,
  workspaceIds = DEFAULT_WORKSPACES,
  maxLength = DEFAULT_MAX_LENGTH,
  firstNumber = 1,
  purges = false,
}: HistoryOptions): fc.Arbitrary<SubmissionJob[]> => {
  const submissions = workspaceIds.map((workspaceId, index) => ({
    // What matters happens within a workspace; the others only have to be there.
    weight: index === 0 ? FIRST_WORKSPACE_WEIGHT : 1,
    arbitrary: submissionsOf({ hashKey, workspaceId }, { workspace: index, purges }),
  }))
  // What nobody says twice would never show that a repetition changes nothing.
  const drawnOrAgain = fc.tuple(fc.oneof(...submissions), fc.option(fc.nat({ max: maxLength }), { freq: 1 }))
  return fc.array(drawnOrAgain, { maxLength, size: 'max' }).map((drawn) => {
    const counts = workspaceIds.map(() => 0)
    return withRepetitions(drawn).map(({ workspace, operation, body }): SubmissionJob => {
      const count = counts[workspace]!
      counts[workspace] = count + 1
      return v.parse(submissionJob, {
        version: JOB_VERSION,
        workspaceId: workspaceIds[workspace],
        submissionId: submissionIdOf(workspace, count),
        number: firstNumber + count,
        operation,
        body,
      })
    })
  })
}

type Drawn = { workspace: number; operation: SubmissionJob['operation']; body: unknown }

/** A UUIDv7, as the ingress makes them; the same for the same place in every history, so that bodies can refer to it. */
const submissionIdOf = (workspace: number, count: number): string =>
  `01900000-0000-7000-8000-${String(workspace).padStart(4, '0')}${String(count).padStart(8, '0')}`

const submissionsOf = (
  realm: Realm,
  { workspace, purges }: { workspace: number; purges: boolean },
): fc.Arbitrary<Drawn> => {
  const as = (operation: Drawn['operation']) => (body: unknown) => ({ workspace, operation, body })
  return fc.oneof(
    { weight: 5, arbitrary: feedback(ownIds(realm, workspace)).map(as('create_feedback')) },
    { weight: 4, arbitrary: contact.map(as('identify_contact')) },
    { weight: 2, arbitrary: account.map(as('identify_account')) },
    { weight: 2, arbitrary: conversation.map(as('submit_conversation')) },
    ...(purges ? [{ weight: 1, arbitrary: purge.map(as('purge_contact')) }] : []),
  )
}

const oneOf = <T>(values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values)

/** Any of the members may be missing, except those that are named. */
const body = <T extends object, K extends keyof T>(members: { [M in keyof T]: fc.Arbitrary<T[M]> }, required: K[]) =>
  fc.record(members, { requiredKeys: required, noNullPrototype: true })

const nullOr = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 6 })

/** Some are blank, and some compare alike though they are written differently. */
const email = fc.oneof(
  { weight: 8, arbitrary: oneOf(EMAILS) },
  { weight: 3, arbitrary: oneOf(['Ann@Example.org', ' bob@example.org', 'user-7 ', 'USER-7']) },
  { weight: 1, arbitrary: oneOf(['', ' ']) },
)
const domain = fc.oneof(
  { weight: 8, arbitrary: oneOf(DOMAINS) },
  { weight: 3, arbitrary: oneOf(['ACME.example', ' bob.example ', 'intranet ', 'Intranet']) },
  { weight: 1, arbitrary: oneOf(['', ' ']) },
)
const name = fc.oneof({ weight: 8, arbitrary: oneOf(NAMES) }, { weight: 1, arbitrary: oneOf(['', ' ', 'Ann ']) })
const externalId = oneOf(EXTERNAL_IDS)
const source = oneOf(SOURCES)
const flag = nullOr(fc.boolean())
const number = oneOf([0, 1, 2.5, -3])
const dateTime = oneOf([
  '2026-01-01T00:00:00Z',
  '2026-01-01T02:00:00+02:00',
  '2025-12-31T23:59:59.5Z',
  '2026-02-01t12:00:00.125-00:30',
])
const value = oneOf([1, 2, 'x', true, null, [], { deep: 1 }, { 'e.f': 2 }])
const free = fc
  .uniqueArray(fc.tuple(oneOf(['plan', 'a', 'a.b', 'a.c', 'name', '$name', '$plan']), value), {
    maxLength: 4,
    selector: ([key]) => key,
  })
  .map((members) => Object.fromEntries(members))

const instants = { $createdAt: nullOr(dateTime), $updatedAt: nullOr(dateTime), $contractValue: nullOr(number) }
const metadata = { plan: value, 'a.b': value, 'a.c': value, a: value, $plan: value }
const account = body(
  {
    id: externalId,
    shouldUnflattenProperties: flag,
    properties: withMany(
      body({ $name: name, $domain: domain, $email: email, ...instants, ...metadata }, ['$name', '$domain']),
    ),
  },
  ['id'],
)
const contact = body(
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
    id: oneOf(MESSAGE_IDS),
    incoming: fc.boolean(),
    contactId: externalId,
    content: oneOf(['hello', 'thanks']),
    createdAt: dateTime,
    shouldUnflattenProperties: flag,
    properties: free,
    sourceUrl: nullOr(oneOf(['https://desk.example/1'])),
  },
  ['id', 'incoming', 'content', 'createdAt'],
)
const conversation = body(
  {
    id: oneOf(CONVERSATION_IDS),
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

const purge = fc
  .tuple(fc.constantFrom('id', 'email', 'both'), externalId, oneOf(EMAILS), nullOr(source))
  .map(([by, id, given, from]) => ({
    ...(by !== 'email' && { id }),
    ...(by !== 'id' && { email: given }),
    ...(from != null && { source: from }),
  }))

type OwnIds = { contact: fc.Arbitrary<string>; account: fc.Arbitrary<string>; project: fc.Arbitrary<string> }

const feedback = (own: OwnIds): fc.Arbitrary<object> =>
  fc
    .tuple(feedbackItself, contactOf(own.contact), accountOf(own.account), projectOf(own.project))
    .map((parts) => Object.assign({}, ...parts) as object)

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
  },
  ['description'],
)

/** Mostly one way of saying who it is; now and then several that may contradict each other. */
const contactOf = (own: fc.Arbitrary<string>): fc.Arbitrary<object> => {
  const weak = { name, email, sourceData: nullOr(withMany(free)) }
  const anyId = fc.oneof(externalId, own)
  return fc.oneof(
    { weight: 5, arbitrary: body({ contact: body(weak, []) }, ['contact']) },
    {
      weight: 3,
      arbitrary: body({ isExternalContactId: fc.constant(true), contactId: externalId }, [
        'isExternalContactId',
        'contactId',
      ]),
    },
    { weight: 2, arbitrary: body({ isExternalContactId: fc.constant(false), contactId: own }, ['contactId']) },
    {
      weight: 3,
      arbitrary: body(
        {
          isExternalContactId: fc.boolean(),
          contactId: nullOr(anyId),
          contact: nullOr(body({ ...weak, id: anyId }, [])),
        },
        [],
      ),
    },
  )
}

const accountOf = (own: fc.Arbitrary<string>): fc.Arbitrary<object> => {
  const weak = { name, domain, contractValue: nullOr(number), sourceData: nullOr(withMany(free)) }
  const anyId = fc.oneof(externalId, own)
  return fc.oneof(
    { weight: 5, arbitrary: body({ account: body(weak, []) }, ['account']) },
    {
      weight: 3,
      arbitrary: body({ isExternalAccountId: fc.constant(true), accountId: externalId }, [
        'isExternalAccountId',
        'accountId',
      ]),
    },
    { weight: 2, arbitrary: body({ isExternalAccountId: fc.constant(false), accountId: own }, ['accountId']) },
    {
      weight: 3,
      arbitrary: body(
        {
          isExternalAccountId: fc.boolean(),
          accountId: nullOr(anyId),
          account: nullOr(body({ ...weak, id: anyId }, [])),
        },
        [],
      ),
    },
  )
}

const projectOf = (own: fc.Arbitrary<string>): fc.Arbitrary<object> =>
  body({ project: nullOr(body({ id: own, name }, [])), projectId: nullOr(own) }, [])

/** Those that somebody may have by then, some that nobody ever has, and one that is no id at all. */
const ownIds = (realm: Realm, workspace: number): OwnIds => {
  const nobody = ['4f6b0f0e-8f0a-4b61-9d0b-3f3c1f2f9b77', 'somebody']
  const records = [
    ...[0, 1, 2, 3].map((count) => submissionIdOf(workspace, count)),
    ...['API', 'crm'].flatMap((from) => SOURCE_IDS.map((id) => ownId(realm, 'feedback', from, id))),
  ]
  const emails = EMAILS.map((given) => ownId(realm, 'contact_email', given))
  const external = SOURCES.flatMap((from) => EXTERNAL_IDS.map((id) => ownId(realm, 'contact_external', from, id)))
  const names = NAMES.map((given) => ownId(realm, 'account_name', given))
  const domains = DOMAINS.map((given) => ownId(realm, 'account_domain', given))
  const projects = NAMES.map((given) => ownId(realm, 'project', given))
  return {
    contact: fc.oneof(
      { weight: 4, arbitrary: oneOf(emails) },
      { weight: 3, arbitrary: oneOf(external) },
      { weight: 2, arbitrary: oneOf(records.map((id) => ownId(realm, 'contact_record', id))) },
      // Ids compare in any case.
      { weight: 1, arbitrary: oneOf([...nobody, ...domains, ...emails.map((id) => id.toUpperCase())]) },
    ),
    account: fc.oneof(
      { weight: 2, arbitrary: oneOf(names) },
      { weight: 2, arbitrary: oneOf(domains) },
      { weight: 2, arbitrary: oneOf(EXTERNAL_IDS.map((id) => ownId(realm, 'account_external', id))) },
      { weight: 1, arbitrary: oneOf([...nobody, ...emails, ...names.map((id) => id.toUpperCase())]) },
    ),
    project: oneOf([...projects, ...nobody, ...domains]),
  }
}
