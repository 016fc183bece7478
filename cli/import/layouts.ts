import type { Kind } from './kinds.ts'

/** A known table of columns, which docs/import.md describes. */
export type Layout = {
  readonly name: string
  readonly kind: Kind
  /** A file that has all of these has this layout. */
  readonly columns: readonly string[]
  readonly map: readonly string[]
  readonly set: readonly string[]
  /** Whether date-times without an offset are UTC. */
  readonly utc: boolean
}

export const LAYOUTS: readonly Layout[] = [
  {
    name: 'zendesk-users',
    kind: 'contacts',
    columns: ['name', 'email', 'external_id'],
    map: ['external_id=id', 'name=properties.$name', 'email=properties.$email'],
    set: ['source=zendesk'],
    utc: false,
  },
  {
    name: 'intercom-messages',
    kind: 'conversations',
    columns: ['conversation_id', 'conversation_created_at', 'message_id', 'message_body', 'message_author_type'],
    map: [
      'conversation_id=id',
      'conversation_created_at=createdAt',
      'conversation_state=properties.state',
      'conversation_tags=properties.tags',
      'message_id=message.id',
      'message_body=message.content',
      'message_created_at=message.createdAt',
      'message_type=message.properties.type',
      'message_author_type=message.incoming:user|lead|contact',
      'message_author_id=message.contactId',
      'message_author_id=contact.id',
      'message_author_name=contact.properties.$name',
      'message_author_email=contact.properties.$email',
      'message_author_user_id=contact.properties.userId',
    ],
    set: ['source=intercom'],
    utc: true,
  },
]
