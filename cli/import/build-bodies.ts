import { RECORDS } from './kinds.ts'
import type { Mapping, Target } from './mapping.ts'
import { type BadRow, isBadRow, type Row } from './read-rows.ts'

/** One request: its body, and the line of the file where the first of its rows begins. */
export type Submission = {
  readonly line: number
  readonly body: string
  /** Submissions with the same id are sent in the order of the file. */
  readonly id: string | undefined
  /** What of its rows goes nowhere. */
  readonly dropped: readonly BadRow[]
}

type Values = { readonly [member: string]: unknown }
type Entry = { readonly path: readonly string[]; readonly value: unknown }

/** A longer conversation is continued in a further submission, which adds messages to it. */
const MAX_MESSAGES = 1_000
const MAX_MESSAGE_CHARACTERS = 1024 * 1024

/**
 * Turns rows into submissions. In a CSV file of conversations, neighbouring rows with the same id
 * make one submission.
 */
export const buildBodies = async function* (
  rows: AsyncIterable<Row | BadRow>,
  mapping: Mapping,
): AsyncGenerator<Submission | BadRow> {
  let open: Conversation | undefined
  for await (const row of rows) {
    if (isBadRow(row)) yield row
    else if (row.text !== undefined) yield fromNdjson({ ...row, text: row.text }, mapping)
    else if (mapping.kind !== 'conversations')
      yield submissionOf(row.line, said(nest(entriesOf(row.cells, mapping)), mapping), mapping)
    else {
      const next = conversationOf(row, mapping)
      if (open !== undefined && continues(open, next)) open = join(open, next)
      else {
        if (open !== undefined) yield close(open, mapping)
        open = next
      }
    }
  }
  if (open !== undefined) yield close(open, mapping)
}

const fromNdjson = ({ line, cells, text }: Row & { text: string }, mapping: Mapping): Submission => {
  // The line is sent as it is written: numbers keep their digits.
  if (mapping.columns.length === 0 && mapping.constants.length === 0)
    return { line, body: text, id: idOf(cells, mapping), dropped: [] }
  const mapped = new Set(mapping.columns.map(({ column }) => column))
  const rest = Object.entries(cells).flatMap(([member, value]) =>
    mapped.has(member) ? [] : [{ path: [member], value } as const],
  )
  return submissionOf(line, nest([...rest, ...entriesOf(cells, mapping)]), mapping)
}

const submissionOf = (line: number, value: Values, mapping: Mapping): Submission => ({
  line,
  body: JSON.stringify(value),
  id: idOf(value, mapping),
  dropped: [],
})

/** Who has only rated has said nothing, which is feedback all the same. */
const said = (value: Values, { kind }: Mapping): Values =>
  kind === 'feedback' && value['description'] === undefined && value['rating'] !== undefined
    ? { ...value, description: '' }
    : value

const idOf = (value: Values, { kind }: Mapping): string | undefined => {
  const id = value[RECORDS[kind].id]
  return typeof id === 'string' ? id : undefined
}

const entriesOf = (cells: Row['cells'], { columns, constants, utc }: Mapping): Entry[] => {
  const ofColumns = columns.flatMap(({ column, targets }) => {
    const cell = Object.hasOwn(cells, column) ? cells[column] : undefined
    return targets.flatMap((target) => {
      const value = typeof cell === 'string' ? valueOf(cell, target, utc) : cell
      return value === undefined ? [] : [{ path: target.path, value }]
    })
  })
  const ofConstants = constants.flatMap(({ target, value }) => {
    const made = valueOf(value, target, utc)
    return made === undefined ? [] : [{ path: target.path, value: made }]
  })
  return [...ofConstants, ...ofColumns]
}

/**
 * A cell without the form of its type stays text: the service then says what it expected, and
 * where.
 */
const valueOf = (written: string, { type, trueFor, separator, values = {} }: Target, utc: boolean): unknown => {
  const cell = Object.hasOwn(values, written.trim()) ? values[written.trim()]! : written
  if (cell === '' && type !== 'content') return undefined
  switch (type) {
    case 'text':
    case 'content':
      return cell
    case 'number':
      return cell.trim() !== '' && Number.isFinite(Number(cell)) ? Number(cell) : cell
    case 'flag':
      return flagOf(cell.trim(), trueFor)
    case 'words':
      return wordsOf(cell, separator)
    case 'object':
      return objectOf(cell)
    case 'time':
      return utc
        ? cell.trim().replace(/^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?$/, asUtc)
        : cell.trim()
  }
}

const wordsOf = (cell: string, separator: string | undefined): string[] =>
  cell
    .split(separator ?? (cell.includes('|') && !cell.includes(',') ? '|' : ','))
    .flatMap((word) => (word.trim() === '' ? [] : [word.trim()]))

const objectOf = (cell: string): unknown => {
  try {
    return JSON.parse(cell)
  } catch {
    return cell
  }
}

const asUtc = (_text: string, day: string, time = '00:00'): string =>
  `${day}T${time.length === 'hh:mm'.length ? `${time}:00` : time}Z`

const flagOf = (cell: string, trueFor: readonly string[] | undefined): unknown => {
  if (trueFor) return trueFor.includes(cell)
  if (/^(?:true|yes|1)$/i.test(cell)) return true
  return /^(?:false|no|0)$/i.test(cell) ? false : cell
}

/**
 * Nests members by their paths; a later entry replaces an earlier one. No name is special,
 * `__proto__` included.
 */
const nest = (entries: readonly Entry[]): Values => {
  const groups = Map.groupBy(entries, ({ path }) => path[0] ?? '')
  return Object.fromEntries(
    [...groups].map(([member, group]) => {
      const inner = group.filter(({ path }) => path.length > 1)
      const whole = group.findLast(({ path }) => path.length === 1)?.value
      if (inner.length === 0) return [member, whole]
      const nested = nest(inner.map(({ path, value }) => ({ path: path.slice(1), value })))
      return [member, typeof whole === 'object' ? { ...whole, ...nested } : nested]
    }),
  )
}

type Conversation = {
  readonly line: number
  readonly own: Values
  readonly contacts: readonly Values[]
  readonly messages: readonly Values[]
  readonly characters: number
  readonly dropped: readonly BadRow[]
}

const conversationOf = ({ line, cells }: Row, mapping: Mapping): Conversation => {
  const { contact, message, ...own } = nest(entriesOf(cells, mapping)) as Values & {
    contact?: Values
    message?: Values
  }
  const { id, source, properties } = contact ?? {}
  // The author of an answer is no contact, even if the table has a name and an email for every
  // author.
  const isContact = id !== undefined && message?.['incoming'] !== false
  const named = Object.fromEntries(
    Object.entries({ id, source, properties }).filter(([, value]) => value !== undefined),
  )
  const isLost = contact !== undefined && id === undefined && message?.['incoming'] !== false
  return {
    line,
    own,
    dropped: isLost
      ? [
          {
            line,
            reasons: [`what is known of the contact, since it has no contact.id: ${Object.keys(contact).join(', ')}`],
          },
        ]
      : [],
    contacts: isContact ? [named] : [],
    messages: message ? [message] : [],
    characters: JSON.stringify([contact, message]).length,
  }
}

const continues = (open: Conversation, next: Conversation): boolean =>
  open.own['id'] !== undefined &&
  open.own['id'] === next.own['id'] &&
  open.own['source'] === next.own['source'] &&
  open.messages.length < MAX_MESSAGES &&
  open.characters + next.characters < MAX_MESSAGE_CHARACTERS

/**
 * A later row keeps the values of an earlier row where its own cells are empty; a contact is named
 * once.
 */
const join = (open: Conversation, next: Conversation): Conversation => ({
  line: open.line,
  dropped: [...open.dropped, ...next.dropped],
  own: { ...open.own, ...next.own },
  contacts: [...open.contacts.filter(({ id }) => next.contacts.every((other) => other['id'] !== id)), ...next.contacts],
  messages: [...open.messages, ...next.messages],
  characters: open.characters + next.characters,
})

const close = ({ line, own, contacts, messages, dropped }: Conversation, mapping: Mapping): Submission => ({
  ...submissionOf(line, { ...own, contacts, messages }, mapping),
  dropped,
})
