import { ImportError } from './import-error.ts'
import { findField, type Kind, plainName, usualField } from './kinds.ts'

export type Pair = { readonly left: string; readonly right: string }

/**
 * Splits a text at its first or last equals sign. Names of columns may contain an equals sign.
 *
 * @throws ImportError when there is no equals sign after a name
 */
export const parsePair = (text: string, form: string, cut: 'first' | 'last' = 'last'): Pair => {
  const at = cut === 'first' ? text.indexOf('=') : text.lastIndexOf('=')
  if (at < 1) throw new ImportError(`${text} does not have the form ${form}.`)
  return { left: text.slice(0, at), right: text.slice(at + 1) }
}

/** The columns of a tool's export. docs/import.md describes them. */
type Layout = {
  readonly name: string
  readonly kind: Kind
  /** A file of this layout has all of these columns. */
  readonly columns: readonly string[]
  readonly map: readonly Pair[]
  readonly source: string
  /** Whether date-times without an offset are UTC. */
  readonly utc: boolean
}

const layoutOf = (
  name: string,
  [kind, source, zone]: readonly [Kind, string, ('utc' | undefined)?],
  { columns, map }: { readonly columns: string; readonly map: string },
): Layout => ({
  name,
  kind,
  source,
  utc: zone === 'utc',
  columns: columns.split('; '),
  map: map.split('; ').map((pair) => parsePair(pair, 'column=field')),
})

export const LAYOUTS: readonly Layout[] = [
  layoutOf('zendesk-users', ['contacts', 'zendesk'], {
    columns: 'name; email; external_id',
    map: 'external_id=id; name=properties.$name; email=properties.$email; tags=properties.tags',
  }),
  layoutOf('intercom-messages', ['conversations', 'intercom', 'utc'], {
    columns: 'conversation_id; conversation_created_at; message_id; message_body; message_author_type',
    map:
      'conversation_id=id; conversation_created_at=createdAt; conversation_state=properties.state; ' +
      'conversation_tags=properties.tags; message_id=message.id; message_body=message.content; ' +
      'message_created_at=message.createdAt; message_type=message.properties.type; ' +
      'message_author_type=message.incoming:user|lead|contact; message_author_id=message.contactId; ' +
      'message_author_id=contact.id; message_author_name=contact.properties.$name; ' +
      'message_author_email=contact.properties.$email; message_author_user_id=contact.properties.userId',
  }),
  layoutOf('zendesk-tickets', ['feedback', 'zendesk'], {
    columns: 'Id; Subject; Requester; Requester email; Created at',
    map:
      'Id=sourceId; Subject=description; Tags=tags:spaces; Requester=contact.name; Requester email=contact.email; ' +
      'Status=sourceData.status; Priority=sourceData.priority; Via=sourceData.channel',
  }),
  // In this layout, `Title` is the job title of the contact, and `Contact ID` is an id of Freshdesk.
  layoutOf('freshdesk-tickets', ['feedback', 'freshdesk'], {
    columns: 'Ticket ID; Subject; Created time; Full name; Email',
    map:
      'Ticket ID=sourceId; Subject=description; Tags=tags; Created time=createdAt; Full name=contact.name; ' +
      'Email=contact.email; Company Name=account.name; Status=sourceData.status; Priority=sourceData.priority; ' +
      'Source=sourceData.channel; Title=; Contact ID=',
  }),
  layoutOf('hubspot-tickets', ['feedback', 'hubspot'], {
    columns: 'Ticket ID; Ticket name; Ticket description; Create date',
    map:
      'Ticket ID=sourceId; Ticket name=title; Ticket description=description; Create date=createdAt; ' +
      'Ticket status=sourceData.status; Priority=sourceData.priority; Source=sourceData.channel',
  }),
  layoutOf('typeform', ['feedback', 'typeform', 'utc'], {
    columns: '#; Start Date (UTC); Submit Date (UTC); Network ID',
    map: '#=sourceId; Submit Date (UTC)=createdAt; Tags=tags',
  }),
  layoutOf('surveymonkey', ['feedback', 'surveymonkey'], {
    columns: 'Respondent ID; Collector ID; Start Date; End Date',
    map: 'Respondent ID=sourceId; Email Address=contact.email',
  }),
  layoutOf('qualtrics', ['feedback', 'qualtrics'], {
    columns: 'ResponseId; StartDate; EndDate; RecordedDate',
    map: 'ResponseId=sourceId; RecipientEmail=contact.email; UserLanguage=sourceData.language',
  }),
  layoutOf('google-play', ['feedback', 'google-play', 'utc'], {
    columns: 'Package Name; Star Rating; Review Text; Review Link; Review Submit Date and Time',
    map:
      'Star Rating=rating; Review Title=title; Review Text=description; Review Link=sourceId; ' +
      'Review Submit Date and Time=createdAt; Package Name=sourceData.app; App Version Name=sourceData.version; ' +
      'Reviewer Language=sourceData.language; Device=sourceData.device',
  }),
  layoutOf('app-store', ['feedback', 'app-store'], {
    columns: 'id; attributes.rating; attributes.body; attributes.createdDate',
    map:
      'id=sourceId; attributes.rating=rating; attributes.title=title; attributes.body=description; ' +
      'attributes.createdDate=createdAt; attributes.territory=sourceData.territory; ' +
      'attributes.reviewerNickname=contact.name',
  }),
  layoutOf('trustpilot', ['feedback', 'trustpilot', 'utc'], {
    columns: 'Review Id; Review Created (UTC); Review Stars; Review Content',
    map:
      'Review Id=sourceId; Review Created (UTC)=createdAt; Review Stars=rating; Review Title=title; ' +
      'Review Content=description; Review Username=contact.name; Review User Email=contact.email; ' +
      'Review Language=sourceData.language; Reference Id=sourceData.reference; Tags=tags',
  }),
  layoutOf('jira', ['feedback', 'jira'], {
    columns: 'Summary; Issue key; Issue id; Issue Type',
    map:
      'Issue key=sourceId; Summary=title; Description=description; Labels=tags; Project name=project.name; ' +
      'Reporter=contact.name; Status=sourceData.status; Priority=sourceData.priority; Issue Type=sourceData.type',
  }),
]

/** Versions of a tool differ in the case of letters. */
export const isSameColumn = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

/** A column with such a name tells the kind: not every kind of record has these fields. */
const TELLING = ['description', 'rating', 'title', 'sourceId', 'message.id', 'message.content', 'message.incoming']

type WantedLayout = {
  readonly layout?: string | undefined
  readonly kind?: Kind | undefined
  /** The fields that options fill. */
  readonly fields: readonly string[]
}

/**
 * The named layout, or the one that the columns show. An unnamed layout applies only if no column
 * and no option suggests records of another kind.
 */
export const chooseLayout = (columns: readonly string[], wanted: WantedLayout): Layout | undefined => {
  if (wanted.layout === 'none') return undefined
  if (wanted.layout !== undefined) return namedLayout(wanted.layout, wanted.kind)
  const known = LAYOUTS.find(({ columns: marks }) =>
    marks.every((mark) => columns.some((column) => isSameColumn(mark, column))),
  )
  if (known === undefined || (wanted.kind ?? known.kind) !== known.kind) return undefined
  const others = columns.filter(
    (column) => !known.map.some(({ left }) => isSameColumn(left, column)) && !usualField(known.kind, column),
  )
  const isOther = others.some((column) => TELLING.some((field) => plainName(field) === plainName(column)))
  return isOther || wanted.fields.some((field) => !findField(known.kind, field)) ? undefined : known
}

const namedLayout = (name: string, kind: Kind | undefined): Layout => {
  const known = LAYOUTS.find((layout) => layout.name === name)
  if (known === undefined)
    throw new ImportError(`--layout must be one of ${LAYOUTS.map((layout) => layout.name).join(', ')}, none.`)
  if (kind !== undefined && kind !== known.kind)
    throw new ImportError(
      `The layout ${name} is for ${known.kind}, not for ${kind}. Leave out --kind, or use --layout none.`,
    )
  return known
}
