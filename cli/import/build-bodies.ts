import { type ConversationRow, joinConversations, type Values } from './conversations.ts'
import { valueOf } from './cell-value.ts'
import { RECORDS } from './kinds.ts'
import type { Lines, Unsent } from './lines.ts'
import type { Mapping, Target } from './mapping.ts'
import type { Row } from './table-rows.ts'

/** One request: its body, and the rows of which it is made. */
export type Submission = {
  readonly lines: readonly Lines[]
  readonly body: string
  /** Submissions with the same id are sent in the order of the file. */
  readonly id: string | undefined
  readonly hasSource: boolean
  /** What a person should look at before it is sent. */
  readonly doubts: readonly Unsent[]
}

type Entry = { readonly path: readonly string[]; readonly value: unknown }

export const isUnsent = (item: object): item is Unsent => 'reasons' in item

/** Turns rows into submissions. In a table, all rows of one conversation are put together. */
export const buildBodies = function* (rows: Iterable<Row | Unsent>, mapping: Mapping): Generator<Submission | Unsent> {
  const messages: ConversationRow[] = []
  for (const row of rows) {
    if (isUnsent(row)) {
      yield row
      continue
    }
    const value = valuesOf(row, mapping)
    if (hasRoundedId(row.cells, value, mapping)) yield { lines: [row.lines], reasons: [ROUNDED] }
    else if (mapping.kind === 'conversations' && row.text === undefined)
      messages.push({ value, lines: row.lines, doubt: row.doubt })
    else {
      const doubts = row.doubt === undefined ? [] : [{ lines: [row.lines], reasons: [row.doubt] }]
      yield submissionOf(
        value,
        { lines: [row.lines], doubts, text: isAsWritten(mapping) ? row.text : undefined },
        mapping,
      )
    }
  }
  for (const { value, ...conversation } of joinConversations(messages)) yield submissionOf(value, conversation, mapping)
}

const ROUNDED = 'an id looks like a number that a spreadsheet rounded, such as 1.18E+11: export the column as text'
const ROUNDED_NUMBER = /^\s*\d(?:[.,]\d+)?E\+\d+\s*$/i

const hasRoundedId = (cells: Row['cells'], value: Values, { kind, columns }: Mapping): boolean => {
  const ofColumns = columns.flatMap(({ column, targets }) =>
    targets.some(({ type }) => type === 'id') ? [cellOf(cells, column)] : [],
  )
  return [value[RECORDS[kind].id], ...ofColumns].some((id) => typeof id === 'string' && ROUNDED_NUMBER.test(id))
}

type Made = { readonly lines: readonly Lines[]; readonly doubts: readonly Unsent[]; readonly text?: string | undefined }

const submissionOf = (value: Values, { lines, doubts, text }: Made, { kind }: Mapping): Submission => {
  const id = value[RECORDS[kind].id]
  const source = value['source']
  return {
    lines,
    // A record of JSON goes as it is written.
    body: text ?? JSON.stringify(value),
    id: typeof id === 'string' ? JSON.stringify([source, id]) : undefined,
    hasSource: source !== undefined,
    doubts,
  }
}

const isAsWritten = ({ columns, constants }: Mapping): boolean => columns.length === 0 && constants.length === 0

const valuesOf = ({ cells, text }: Row, mapping: Mapping): Values => {
  if (text !== undefined && isAsWritten(mapping)) return cells
  // Of a known layout the rest of a record is left out, as the other columns of a table are.
  const mapped = new Set(mapping.columns.map(({ column }) => column))
  const rest = text === undefined || mapping.layout !== undefined ? [] : Object.entries(cells)
  const kept = rest.filter(([member]) => !mapped.has(member)).map(([member, value]) => ({ path: [member], value }))
  return withDescription(nest([...kept, ...entriesOf(cells, mapping)]), mapping)
}

/** Feedback may be a rating or a title alone: then its text is empty. */
const withDescription = (value: Values, { kind }: Mapping): Values => {
  const hasMore = value['rating'] !== undefined || value['title'] !== undefined
  return kind === 'feedback' && value['description'] === undefined && hasMore ? { ...value, description: '' } : value
}

const entriesOf = (cells: Row['cells'], { columns, constants, utc }: Mapping): Entry[] => {
  const found = columns.flatMap(({ column, targets }) =>
    targets.map((target) => ({ target, value: valueOf(cellOf(cells, column), target, utc) })),
  )
  const ofColumns = [...Map.groupBy(found, ({ target }) => target.field).values()]
  return [
    ...constants.map(({ target, value }) => ({ path: target.path, value: valueOf(value, target, utc) })),
    ...ofColumns.map((all) => ({ path: all[0]!.target.path, value: together(all) })),
  ].filter(({ value }) => value !== undefined)
}

const together = (all: readonly { readonly target: Target; readonly value: unknown }[]): unknown => {
  const values = all.map(({ value }) => value).filter((value) => value !== undefined && value !== '')
  if (all.length === 1 || values.length < 2) return values[0] ?? all[0]!.value
  return all[0]!.target.type === 'words' ? values.flat() : values.join('\n')
}

/** A name with dots also means a member within a member. */
const cellOf = (cells: Row['cells'], column: string): unknown => {
  if (Object.hasOwn(cells, column)) return cells[column]
  return column.split('.').reduce<unknown>((value, member) => {
    const isInner = typeof value === 'object' && value !== null && Object.hasOwn(value, member)
    return isInner ? (value as Values)[member] : undefined
  }, cells)
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
