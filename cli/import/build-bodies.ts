import { isObject } from '../../runtime/exact-json.ts'
import { type ConversationRow, joinConversations, type BodyMembers } from './conversations.ts'
import { valueOf } from './cell-value.ts'
import { RECORDS } from './kinds.ts'
import type { Lines, Remark } from './lines.ts'
import type { Mapping, Target } from './mapping.ts'
import type { TableRow } from './table-rows.ts'

/** The body of one record, and the rows of the file that make it. */
export type ImportSubmission = {
  readonly lines: readonly Lines[]
  readonly body: string
  /** Submissions with the same id are sent one after the other, in the order of the file. */
  readonly id: string | undefined
  readonly hasSource: boolean
  /** Doubts that a person should check before the submission is sent. */
  readonly doubts: readonly Remark[]
}

type FieldValue = { readonly path: readonly string[]; readonly value: unknown }

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
    const value = valuesOf(row, plan)
    if (hasRoundedId(row.cells, value, plan)) yield { lines: [row.lines], reasons: [ROUNDED] }
    else if (mapping.kind === 'conversations' && !row.isRecord)
      messages.push({ value, lines: row.lines, doubt: row.doubt })
    else {
      const doubts = row.doubt === undefined ? [] : [{ lines: [row.lines], reasons: [row.doubt] }]
      yield submissionOf(value, { lines: [row.lines], doubts }, mapping)
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
  return [value[RECORDS[kind].id], ...ids].some((id) => typeof id === 'string' && ROUNDED_NUMBER.test(id))
}

type Origin = Pick<ImportSubmission, 'lines' | 'doubts'>

const submissionOf = (value: BodyMembers, { lines, doubts }: Origin, { kind }: Mapping): ImportSubmission => {
  const id = value[RECORDS[kind].id]
  const source = value['source']
  return {
    lines,
    body: JSON.stringify(value),
    id: typeof id === 'string' ? JSON.stringify([source, id]) : undefined,
    hasSource: hasValue(source),
    doubts,
  }
}

const valuesOf = ({ cells, isRecord }: TableRow, plan: Plan): BodyMembers => {
  // With a known layout, unmapped members of JSON are left out, like unmapped columns of a table.
  const rest = !isRecord || plan.layout !== undefined ? [] : Object.entries(cells)
  const kept = rest.filter(([member]) => plan.columns.every(({ column }) => column !== member))
  const own = Object.fromEntries(kept)
  const constants = plan.constants.filter(({ target }) => !hasValue(memberAt(own, target.path)))
  return withDescription(
    nest([...kept.map(([member, value]) => ({ path: [member], value })), ...entriesOf(cells, { ...plan, constants })]),
    plan,
  )
}

/** Feedback with a rating or a title and without a description gets an empty description. */
const withDescription = (value: BodyMembers, { kind }: Mapping): BodyMembers => {
  const hasMore = hasValue(value['rating']) || hasValue(value['title'])
  return kind === 'feedback' && !hasValue(value['description']) && hasMore ? { ...value, description: '' } : value
}

/** Null in JSON is no value. */
const hasValue = (value: unknown): boolean => value !== undefined && value !== null

const entriesOf = (cells: TableRow['cells'], { fields, constants, utc }: Plan): FieldValue[] =>
  [
    ...constants.map(({ target, value }) => ({ path: target.path, value: valueOf(value, target, utc) })),
    ...fields.map((all) => ({ path: all[0]!.target.path, value: together(cells, all, utc) })),
  ].filter(({ value }) => value !== undefined)

const together = (cells: TableRow['cells'], all: readonly Filled[], utc: boolean): unknown => {
  const values = all.map(({ column, target }) => valueOf(cellOf(cells, column), target, utc))
  const filled = values.filter((value) => value !== undefined && value !== '')
  if (filled.length < 2) return filled[0] ?? values[0]
  return all[0]!.target.type === 'words' ? filled.flat() : filled.join('\n')
}

/** A name with dots also means a nested member. */
const cellOf = (cells: TableRow['cells'], column: string): unknown =>
  Object.hasOwn(cells, column) ? cells[column] : memberAt(cells, column.split('.'))

const memberAt = (object: BodyMembers, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, member) => {
    const isInner = typeof value === 'object' && value !== null && Object.hasOwn(value, member)
    return isInner ? (value as BodyMembers)[member] : undefined
  }, object)

/**
 * Nests members by their paths. Of two entries with the same path, the later one counts. An entry
 * for a member of an object replaces only this member, at any depth. A malformed object stays, so
 * that the service refuses the record. No name is special, not even `__proto__`.
 */
const nest = (entries: readonly FieldValue[]): BodyMembers => {
  const groups = Map.groupBy(entries, ({ path }) => path[0] ?? '')
  return Object.fromEntries(
    [...groups].map(([member, group]) => {
      const inner = group.filter(({ path }) => path.length > 1)
      const whole = group.findLast(({ path }) => path.length === 1)?.value
      if (inner.length === 0 || (hasValue(whole) && !isObject(whole))) return [member, whole]
      const own = Object.entries(isObject(whole) ? whole : {}).map(([name, value]) => ({ path: [name], value }))
      return [member, nest([...own, ...inner.map(({ path, value }) => ({ path: path.slice(1), value }))])]
    }),
  )
}
