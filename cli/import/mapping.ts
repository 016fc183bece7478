import { ImportError } from './import-error.ts'
import { type FieldType, findField, type Kind, plainName, RECORDS, usualField } from './kinds.ts'
import { isSameColumn, type Layout } from './layouts.ts'
import type { Column } from './table.ts'

export type Target = {
  readonly field: string
  readonly path: readonly string[]
  readonly type: FieldType
  /** The cells that make a flag true; every other cell makes it false. */
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
  /**
   * The targets, in the order of the columns. A column may have several; a column without a target
   * is left out.
   */
  readonly columns: readonly { readonly column: string; readonly targets: readonly Target[] }[]
  readonly constants: readonly { readonly target: Target; readonly value: string }[]
  readonly utc: boolean
}

export type MappingOptions = {
  readonly kind: Kind
  readonly layout: Layout | undefined
  readonly columns: readonly Column[]
  /** `column=field`; `column=` leaves a column out; `column=flag:a|b` is true for a and b. */
  readonly map: readonly string[]
  /** `field cell=value`: the value replaces a cell with this text. */
  readonly mapValue: readonly string[]
  /** `field=value` for every record. */
  readonly set: readonly string[]
  /** Keep columns without a field as metadata. */
  readonly keepRest: boolean
  readonly utc: boolean
}

/** @throws ImportError with the column or field that does not exist or is filled twice */
export const createMapping = (options: MappingOptions): Mapping => {
  const { kind, layout, columns } = options
  const asked = options.map.map((text) => askedPair(text, columns))
  const ofLayout = (layout?.map ?? []).map((text) => parsePair(text, 'column=field'))
  const fieldsOf = ({ name, title }: Column): string[] => {
    const own = asked.filter(({ left }) => left === name || left === title)
    if (own.length > 0) return own.flatMap(({ right }) => right || [])
    const known = ofLayout.filter(({ left }) => isSameColumn(left, title))
    if (known.length > 0) return known.flatMap(({ right }) => right || [])
    const usual = usualField(kind, title) ?? (options.keepRest ? `${metadataOf(kind)}.${name}` : undefined)
    return usual === undefined ? [] : [usual]
  }
  const valuesOf = valuesByField(kind, options.mapValue)
  const set = [...(layout ? [`source=${layout.source}`] : []), ...options.set]
  const constants = set.map((text) => parsePair(text, '--set field=value', 'first'))
  const mapped = columns.map((column) => ({
    column: column.name,
    targets: fieldsOf(column).map((field) => withValues(targetOf(kind, field), valuesOf)),
  }))
  refuseDoubles(mapped)
  return {
    kind,
    layout: layout?.name,
    columns: mapped,
    // A later constant replaces an earlier one.
    constants: [...new Map(constants.map(({ left, right }) => [left, right]))].map(([field, value]) => ({
      target: targetOf(kind, field),
      value,
    })),
    utc: options.utc || (layout?.utc ?? false),
  }
}

const askedPair = (text: string, columns: readonly Column[]): Pair => {
  const { left, right } = parsePair(text, '--map column=field')
  const named = columns.find(({ name, title }) => name === left || title === left)
  const alike = named ? left : columns.find(({ title }) => plainName(title) === plainName(left))?.title
  if (alike !== undefined) return { left: alike, right }
  const known = columns.map(({ name }) => name).join(', ')
  throw new ImportError(`--map names a column that the file does not have: ${left}. The file has: ${known}.`)
}

/**
 * Columns of one prose are joined, and tags are collected. Any other field takes only one column.
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

type ValuesOf = ReadonlyMap<string, Readonly<Record<string, string>>>

const valuesByField = (kind: Kind, given: readonly string[]): ValuesOf => {
  const pairs = given.map((text) => {
    const [, field = '', pair = ''] = /^(\S+) (.*)$/s.exec(text) ?? []
    const { left, right } = parsePair(pair, "--map-value 'field cell=value'")
    return { field: targetOf(kind, field).field, left: left.trim(), right }
  })
  const grouped = Map.groupBy(pairs, ({ field }) => field)
  return new Map(
    [...grouped].map(([field, own]) => [field, Object.fromEntries(own.map(({ left, right }) => [left, right]))]),
  )
}

const withValues = (target: Target, valuesOf: ValuesOf): Target => {
  const values = valuesOf.get(target.field)
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

export type Pair = { readonly left: string; readonly right: string }

/** Names of columns may contain an equals sign; names of fields do not. */
export const parsePair = (text: string, form: string, cut: 'first' | 'last' = 'last'): Pair => {
  const at = cut === 'first' ? text.indexOf('=') : text.lastIndexOf('=')
  if (at < 1) throw new ImportError(`${text} does not have the form ${form}.`)
  return { left: text.slice(0, at), right: text.slice(at + 1) }
}

/** A suffix names the separator: `tags:spaces` splits at spaces. */
const SEPARATORS: Readonly<Record<string, string>> = { spaces: ' ', commas: ',', bars: '|', semicolons: ';' }

const targetOf = (kind: Kind, text: string): Target => {
  const [name = '', option] = text.split(/:(.*)/s)
  const found = findField(kind, name)
  if (option !== undefined && found?.type === 'flag') return { field: name, ...found, trueFor: option.split('|') }
  const separator = option === undefined ? undefined : SEPARATORS[option]
  if (separator !== undefined && found?.type === 'words') return { field: name, ...found, separator }
  const whole = findField(kind, text)
  if (whole) return { field: text, ...whole }
  const { fields, free } = RECORDS[kind]
  const known = [...Object.keys(fields), ...free.map((prefix) => `${prefix}.…`)].join(', ')
  throw new ImportError(`There is no field ${text} in ${kind}. The fields are: ${known}.`)
}

const describeTarget = ({ field, trueFor, values = {} }: Target): string => {
  const cells = Object.entries(values).map(([cell, value]) => `${cell} is ${value}`)
  const also = [...(trueFor ? [`true for ${trueFor.join(', ')}`] : []), ...cells]
  return also.length === 0 ? field : `${field} (${also.join(', ')})`
}

/** One line for each column and constant, for a person to check. */
export const describeMapping = ({ columns, constants, utc, layout }: Mapping): string[] => {
  const wide = Math.max(...columns.map(({ column }) => column.length), 8)
  return [
    ...(layout === undefined ? [] : [`  The layout is ${layout}; --layout none turns it off.`]),
    ...columns.map(({ column, targets }) => {
      const fields = targets.map(describeTarget)
      return `  ${column.replace(/\s+/g, ' ').padEnd(wide)}  →  ${fields.length === 0 ? '(left out)' : fields.join(', ')}`
    }),
    ...constants.map(({ target, value }) => `  ${'(always)'.padEnd(wide)}  →  ${target.field} = ${value}`),
    ...(utc ? ['  Date-times without an offset are taken as UTC.'] : []),
  ]
}
