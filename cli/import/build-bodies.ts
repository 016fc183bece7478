import { cleanKeys, withoutNameless } from './clean-keys.ts'
import { type ConversationRow, joinConversations } from './conversations.ts'
import { unwrapped, valueOf } from './cell-value.ts'
import { RECORDS } from './kinds.ts'
import type { Lines, Remark } from './lines.ts'
import type { Mapping, Target } from './mapping.ts'
import { type BodyMembers, entriesOf, type FieldValue, hasValue, memberAt, nest } from './members.ts'
import type { TableRow } from './table-rows.ts'

/** The body of one record, and the rows of the file that make it. */
export type ImportSubmission = {
  readonly lines: readonly Lines[]
  readonly record: BodyMembers
  /** The record as it is sent. */
  readonly body: string
  /** Submissions with the same id are sent one after the other, in the order of the file. */
  readonly id: string | undefined
  readonly hasSource: boolean
  /** Doubts that a person should check before the submission is sent. */
  readonly doubts: readonly Remark[]
}

export const isRemark = (item: object): item is Remark => 'reasons' in item

/** Turns rows into submissions. Joins the rows of a table that belong to one conversation. */
export const buildBodies = function* (
  rows: Iterable<TableRow | Remark>,
  mapping: Mapping,
): Generator<ImportSubmission | Remark> {
  const messages: ConversationRow[] = []
  const filled = mapping.columns.flatMap(({ column, targets }) => targets.map((target) => ({ column, target })))
  const plan = { ...mapping, fields: [...Map.groupBy(filled, ({ target }) => target.field).values()] }
  for (const row of rows) {
    if (isRemark(row)) {
      yield row
      continue
    }
    const { value, doubts } = valuesOf(row, plan)
    if (hasRoundedId(row.cells, value, plan)) yield { lines: [row.lines], reasons: [ROUNDED] }
    else if (mapping.kind === 'conversations' && !row.isRecord) messages.push({ value, lines: row.lines, doubts })
    else {
      const remarks = doubts.map((reason) => ({ lines: [row.lines], reasons: [reason] }))
      yield submissionOf(value, { lines: [row.lines], doubts: remarks }, mapping)
    }
  }
  for (const { value, ...conversation } of joinConversations(messages)) yield submissionOf(value, conversation, mapping)
}

const ROUNDED = 'an id looks like a number that a spreadsheet rounded, such as 1.18E+11: export the column as text'
const ROUNDED_NUMBER = /^\s*\d(?:[.,]\d+)?E\+\d+\s*$/i

/** `fields`: for each field, the columns that become it. */
type Plan = Mapping & { readonly fields: readonly (readonly Filled[])[] }
type Filled = { readonly column: string; readonly target: Target }

const hasRoundedId = (cells: TableRow['cells'], value: BodyMembers, { kind, fields }: Plan): boolean => {
  const ids = fields.flatMap((all) =>
    all.flatMap(({ column, target }) => (target.type === 'id' ? [cellOf(cells, column)] : [])),
  )
  return [value[RECORDS[kind].id], ...ids].some((id) => typeof id === 'string' && ROUNDED_NUMBER.test(unwrapped(id)))
}

type Origin = Pick<ImportSubmission, 'lines' | 'doubts'>

const submissionOf = (value: BodyMembers, { lines, doubts }: Origin, { kind }: Mapping): ImportSubmission => {
  const id = value[RECORDS[kind].id]
  const source = value['source']
  return {
    lines,
    record: value,
    body: JSON.stringify(value),
    id: typeof id === 'string' ? JSON.stringify([source, id]) : undefined,
    hasSource: hasValue(source),
    doubts,
  }
}

type RowValue = { readonly value: BodyMembers; readonly doubts: readonly string[] }

const valuesOf = ({ cells, isRecord, doubt }: TableRow, plan: Plan): RowValue => {
  const { kind, layout, columns, utc } = plan
  // With a known layout, unmapped members of JSON are left out, like unmapped columns of a table.
  const rest = !isRecord || layout !== undefined ? [] : entriesOf(cells)
  const kept = rest.filter(({ path: [member] }) => columns.every(({ column }) => column !== member))
  const ofCells = plan.fields.map((all) => ({ path: all[0]!.target.path, value: together(cells, all, utc) }))
  const own = nest([...kept, ...ofCells.filter(isGiven)])
  const cleaned = cleanKeys(isRecord ? withTimes(own, plan) : own, kind)
  // A constant takes the place of a placeholder, too, and of null.
  const constants = plan.constants
    .filter(({ target }) => !hasValue(memberAt(cleaned.value, target.path)))
    .map(({ target, value }) => ({ path: target.path, value: valueOf(value, target, utc) }))
    .filter(isGiven)
  const isFilled = ({ path: [member] }: FieldValue): boolean => constants.some(({ path }) => path[0] === member)
  const others = entriesOf(cleaned.value).filter((entry) => hasValue(entry.value) || !isFilled(entry))
  const named = withoutNameless(nest([...constants, ...others]), kind)
  return {
    value: withDescription(named.value, plan),
    doubts: [...(doubt === undefined ? [] : [doubt]), ...cleaned.doubts, ...named.doubts],
  }
}

const isGiven = ({ value }: FieldValue): boolean => value !== undefined

/** A time in a record of JSON can be a number, or have another form than RFC 3339. */
const withTimes = (record: BodyMembers, { kind, utc }: Plan): BodyMembers => {
  const times = Object.entries(RECORDS[kind].fields).flatMap(([field, type]) => {
    const path = field.split('.')
    const given = type === 'time' ? memberAt(record, path) : undefined
    return hasValue(given) ? [{ path, value: valueOf(given, { field, path, type }, utc) }] : []
  })
  return nest([...entriesOf(record), ...times])
}

/** Feedback with a rating or a title and without a description gets an empty description. */
const withDescription = (value: BodyMembers, { kind }: Mapping): BodyMembers => {
  const hasMore = hasValue(value['rating']) || hasValue(value['title'])
  return kind === 'feedback' && !hasValue(value['description']) && hasMore ? { ...value, description: '' } : value
}

const together = (cells: TableRow['cells'], all: readonly Filled[], utc: boolean): unknown => {
  const values = all.map(({ column, target }) => valueOf(cellOf(cells, column), target, utc))
  const filled = values.filter((value) => value !== undefined && value !== '')
  if (filled.length < 2) return filled[0] ?? values[0]
  return all[0]!.target.type === 'words' ? filled.flat() : filled.join('\n')
}

/** A name with dots also means a nested member. */
const cellOf = (cells: TableRow['cells'], column: string): unknown =>
  Object.hasOwn(cells, column) ? cells[column] : memberAt(cells, column.split('.'))
