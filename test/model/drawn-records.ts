import * as fc from 'fast-check'
import {
  body,
  CONVERSATION_IDS,
  dateTime,
  domain,
  email,
  EMAILS,
  externalId,
  flag,
  free,
  MESSAGE_IDS,
  name,
  nullOr,
  number,
  oneOf,
  source,
  value,
} from './drawn-values.ts'
import { withMany } from './many-keys.ts'

const instants = { $createdAt: nullOr(dateTime), $updatedAt: nullOr(dateTime), $contractValue: nullOr(number) }
const metadata = { plan: value, 'a.b': value, 'a.c': value, a: value, $plan: value }

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
    id: oneOf(MESSAGE_IDS),
    incoming: fc.boolean(),
    contactId: fc.oneof({ weight: 8, arbitrary: externalId }, { weight: 1, arbitrary: oneOf(['undefined', ' null']) }),
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

/** By id, by email or by both. An email that counts as absent does not purge by email. */
export const purge = fc
  .tuple(
    fc.constantFrom('id', 'email', 'both'),
    externalId,
    fc.oneof({ weight: 3, arbitrary: oneOf(EMAILS) }, { weight: 1, arbitrary: oneOf(['Ann <ANN@example.org>']) }),
    nullOr(source),
  )
  .map(([by, id, given, from]) => ({
    ...(by !== 'email' && { id }),
    ...(by !== 'id' && { email: given }),
    ...(from != null && { source: from }),
  }))
