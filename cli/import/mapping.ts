import { ImportError } from './import-error.ts'
import { type FieldType, findField, type Kind, KINDS, plainName, RECORDS, usualField } from './kinds.ts'
import { chooseLayout, isSameColumn, type Pair, parsePair } from './layouts.ts'
import type { SourceFile } from './source-file.ts'
import type { TableColumn } from './table.ts'

export type Target = {
  readonly field: string
  readonly path: readonly string[]
  readonly type: FieldType
  /** The cells that make a flag true. Other cells make it false, and empty cells give no value. */
  readonly trueFor?: readonly string[]
  /** The separator of words. */
  readonly separator?: string
  /** The values for cells with these texts. */
  readonly values?: Readonly<Record<string, string>>
}

export type Mapping = {
  readonly kind: Kind
  /** The name of the layout. */
  readonly layout: string | undefined
  /** A column may have several targets. A column without a target is left out. */
  readonly columns: readonly { readonly column: string; readonly targets: readonly Target[] }[]
  readonly constants: readonly { readonly target: Target; readonly value: string }[]
  readonly utc: boolean
}

/** The options of the command that decide about the mapping. */
export type MappingOptions = {
  readonly kind?: string | undefined
  readonly layout?: string | undefined
  /** `column=field`; `column=` leaves a column out; `column=flag:a|b` is true for a and b. */
  readonly map: readonly string[]
  /** `field cell=value`: the value replaces a cell with this text. */
  readonly 'map-value': readonly string[]
  /** `field=value` for every record. */
  readonly set: readonly string[]
  /** Keep columns without a field as metadata. */
  readonly 'keep-rest': boolean
  readonly utc: boolean
}

/** @throws ImportError when the options do not fit the file or each other */
export const planMapping = (file: SourceFile, options: MappingOptions): Mapping => {
  const given = options.map.map((text) => parsePair(text, '--map column=field'))
  const set = options.set.map((text) => parsePair(text, '--set field=value', 'first'))
  const asKind = kindOf(options.kind)
  const layout = chooseLayout(file.columns?.map(({ title }) => title) ?? file.members(), {
    layout: options.layout,
    kind: asKind,
    fields: [...given.flatMap(({ right }) => right.replace(/:.*/s, '') || []), ...set.map(({ left }) => left)],
  })
  const kind = asKind ?? layout?.kind ?? 'feedback'
  const ofLayout = layout?.map ?? []
  // Members of JSON have the names of fields, unless an option or the layout renames them.
  const renamed = new Set([...given, ...ofLayout].map(({ left }) => left))
  const columns = file.columns ?? [...renamed].map((name) => ({ name, title: name }))
  const asked = given.map((pair) => ofColumn(pair, columns))
  const fieldsOf = ({ name, title }: TableColumn): string[] => {
    const own = asked.filter(({ left }) => left === name || left === title)
    if (own.length > 0) return own.flatMap(({ right }) => right || [])
    const known = ofLayout.filter(({ left }) => isSameColumn(left, title))
    if (known.length > 0) return known.flatMap(({ right }) => right || [])
    const usual = usualField(kind, title) ?? (options['keep-rest'] ? `${metadataOf(kind)}.${name}` : undefined)
    return usual === undefined ? [] : [usual]
  }
  const valuesByField = parseMapValues(kind, options['map-value'])
  const mapped = columns.map((column) => ({
    column: column.name,
    targets: fieldsOf(column).map((field) => withValues(targetOf(kind, field), valuesByField)),
  }))
  refuseDoubles(mapped)
  // A later constant replaces an earlier one.
  const constants = new Map([
    ...(layout ? [['source', layout.source] as const] : []),
    ...set.map(({ left, right }) => [left, right] as const),
  ])
  return {
    kind,
    layout: layout?.name,
    columns: mapped,
    constants: [...constants].map(([field, value]) => ({ target: targetOf(kind, field), value })),
    utc: options.utc || (layout?.utc ?? false),
  }
}

const kindOf = (name: string | undefined): Kind | undefined => {
  const kind = KINDS.find((known) => known === name)
  if (name !== undefined && kind === undefined) throw new ImportError(`--kind must be one of ${KINDS.join(', ')}.`)
  return kind
}

/** The pair with the name of the column as the file has it. */
const ofColumn = ({ left, right }: Pair, columns: readonly TableColumn[]): Pair => {
  const named = columns.find(({ name, title }) => name === left || title === left)
  const alike = named ? left : columns.find(({ title }) => plainName(title) === plainName(left))?.title
  if (alike !== undefined) return { left: alike, right }
  const known = columns.map(({ name }) => name).join(', ')
  throw new ImportError(`--map names a column that the file does not have: ${left}. The file has: ${known}.`)
}

/**
 * Fields of the types `prose`, `content` and `words` take several columns. Other fields take one.
 */
const refuseDoubles = (columns: Mapping['columns']): void => {
  const filled = columns.flatMap(({ column, targets }) => targets.map((target) => ({ column, ...target })))
  for (const [field, all] of Map.groupBy(filled, (target) => target.field)) {
    if (all.length === 1 || ['prose', 'content', 'words'].includes(all[0]!.type)) continue
    const names = all.map(({ column }) => column)
    throw new ImportError(
      `Several columns become ${field}: ${names.join(', ')}. Leave out all but one, such as: --map '${names.at(-1)}='`,
    )
  }
}

type ValuesByField = ReadonlyMap<string, Readonly<Record<string, string>>>

const parseMapValues = (kind: Kind, given: readonly string[]): ValuesByField => {
  const pairs = given.map((text) => {
    const [, field, left, right] = /^(\S+) (.+)=(.*)$/s.exec(text) ?? []
    if (field === undefined || left === undefined || right === undefined)
      throw new ImportError(`${text} does not have the form --map-value field cell=value.`)
    return { field: targetOf(kind, field).field, left: left.trim(), right }
  })
  const grouped = Map.groupBy(pairs, ({ field }) => field)
  return new Map(
    [...grouped].map(([field, own]) => [field, Object.fromEntries(own.map(({ left, right }) => [left, right]))]),
  )
}

const withValues = (target: Target, valuesByField: ValuesByField): Target => {
  const values = valuesByField.get(target.field)
  return values ? { ...target, values } : target
}

const metadataOf = (kind: Kind): string => {
  switch (kind) {
    case 'feedback':
      return 'sourceData'
    case 'contacts':
    case 'accounts':
      return 'properties'
    case 'conversations':
      return 'message.properties'
  }
}

/** A suffix names the separator: `tags:spaces` splits at spaces. */
const SEPARATORS: ReadonlyMap<string, string> = new Map([
  ['spaces', ' '],
  ['commas', ','],
  ['bars', '|'],
  ['semicolons', ';'],
])

const targetOf = (kind: Kind, text: string): Target => {
  const [name = '', option] = text.split(/:(.*)/s)
  const found = findField(kind, name)
  if (option !== undefined && found?.type === 'flag') return { field: name, ...found, trueFor: option.split('|') }
  const separator = SEPARATORS.get(option ?? '')
  if (separator !== undefined && found?.type === 'words') return { field: name, ...found, separator }
  const whole = findField(kind, text)
  if (whole) return { field: text, ...whole }
  const { fields, free } = RECORDS[kind]
  const known = [...Object.keys(fields), ...free.map((prefix) => `${prefix}.…`)].join(', ')
  throw new ImportError(`There is no field ${text} in ${kind}. The fields are: ${known}.`)
}
