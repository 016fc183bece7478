import { ImportError } from './import-error.ts'
import { type FieldType, findField, type Kind, RECORDS } from './kinds.ts'
import type { Layout } from './layouts.ts'

export type Target = {
  readonly field: string
  readonly path: readonly string[]
  readonly type: FieldType
  /** The cells that make a flag true; every other cell makes it false. */
  readonly trueFor?: readonly string[]
  /** The separator of words. Without it commas and bars separate them. */
  readonly separator?: string
  /** What cells are taken for. */
  readonly values?: Readonly<Record<string, string>>
}

export type Mapping = {
  readonly kind: Kind
  /**
   * In the order of the columns. A column may have several targets; a column without a target is
   * left out.
   */
  readonly columns: readonly { readonly column: string; readonly targets: readonly Target[] }[]
  readonly constants: readonly { readonly target: Target; readonly value: string }[]
  readonly utc: boolean
}

export type MappingOptions = {
  readonly kind: Kind
  readonly layout: Layout | undefined
  readonly columns: readonly string[]
  /** `column=field`; `column=` leaves a column out; `column=flag:a|b` is true for a and b. */
  readonly map: readonly string[]
  /** `field cell=value`: where the cell is this, the value is taken. */
  readonly mapValue: readonly string[]
  /** `field=value` for every record. */
  readonly set: readonly string[]
  /** Keep columns that have no field of their own as metadata. */
  readonly keepRest: boolean
  readonly utc: boolean
}

/** @throws ImportError naming the column or field that does not exist */
export const createMapping = (options: MappingOptions): Mapping => {
  const { kind, layout, columns } = options
  const asked = options.map.map((text) => {
    const { left, right } = parsePair(text, '--map column=field')
    const alike = columns.includes(left) ? left : columns.find((column) => plain(column) === plain(left))
    return { left: alike ?? left, right }
  })
  for (const { left } of asked) {
    if (!columns.includes(left)) {
      throw new ImportError(`--map names a column that the file does not have: ${left}. It has: ${columns.join(', ')}.`)
    }
  }
  const ofLayout = (layout?.map ?? []).map((text) => parsePair(text, 'column=field'))
  const fieldsOf = (column: string): string[] => {
    const own = asked.filter(({ left }) => left === column)
    if (own.length > 0) return own.flatMap(({ right }) => (right === '' ? [] : [right]))
    const known = ofLayout.filter(({ left }) => left === column).map(({ right }) => right)
    if (known.length > 0) return known
    const usual = usualField(kind, column)
    if (usual !== undefined) return [usual]
    return options.keepRest ? [`${metadataOf(kind)}.${column}`] : []
  }
  const valuesOf = valuesByField(kind, options.mapValue)
  const set = [...(layout?.set ?? []), ...options.set].map((text) => parsePair(text, '--set field=value', 'first'))
  return {
    kind,
    columns: columns.map((column) => ({
      column,
      targets: fieldsOf(column).map((field) => withValues(targetOf(kind, field), valuesOf)),
    })),
    // A later constant replaces an earlier one.
    constants: [...new Map(set.map(({ left, right }) => [left, right]))].map(([field, value]) => ({
      target: targetOf(kind, field),
      value,
    })),
    utc: options.utc || (layout?.utc ?? false),
  }
}

/** A field called like the column, but for case, spaces and the like. */
const usualField = (kind: Kind, column: string): string | undefined => {
  if (findField(kind, column)) return column
  const { fields, usual } = RECORDS[kind]
  const known = [...Object.keys(fields).map((name) => [name, name] as const), ...Object.entries(usual)]
  return known.find(([name]) => plain(name) === plain(column))?.[1]
}

const plain = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}$]/gu, '') || name

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

/** Names of columns may contain an equals sign, names of fields do not. */
const parsePair = (text: string, form: string, cut: 'first' | 'last' = 'last'): { left: string; right: string } => {
  const at = cut === 'first' ? text.indexOf('=') : text.lastIndexOf('=')
  if (at < 1) throw new ImportError(`${text} has not the form ${form}.`)
  return { left: text.slice(0, at), right: text.slice(at + 1) }
}

/** `tags:spaces` splits at spaces. */
const SEPARATORS: Readonly<Record<string, string>> = { spaces: ' ', commas: ',', bars: '|', semicolons: ';' }

const targetOf = (kind: Kind, text: string): Target => {
  const [name = '', values] = text.split(/:(.*)/s)
  const flag = values === undefined ? undefined : findField(kind, name)
  if (values !== undefined && flag?.type === 'flag') {
    return { field: name, path: flag.path, type: 'flag', trueFor: values.split('|') }
  }
  const separator = values === undefined ? undefined : SEPARATORS[values]
  if (separator !== undefined && flag?.type === 'words')
    return { field: name, path: flag.path, type: 'words', separator }
  const found = findField(kind, text)
  if (found) return { field: text, ...found }
  const { fields, free } = RECORDS[kind]
  const known = [...Object.keys(fields), ...free.map((prefix) => `${prefix}.…`)].join(', ')
  throw new ImportError(`There is no field ${text} in ${kind}. There are: ${known}.`)
}

const describeTarget = ({ field, trueFor, values = {} }: Target): string => {
  const cells = Object.entries(values).map(([cell, value]) => `${cell} is ${value}`)
  const also = [...(trueFor ? [`true for ${trueFor.join(', ')}`] : []), ...cells]
  return also.length === 0 ? field : `${field} (${also.join(', ')})`
}

/** One line for each column and constant, for a person to check. */
export const describeMapping = ({ columns, constants, utc }: Mapping): string[] => {
  const wide = Math.max(...columns.map(({ column }) => column.length), 8)
  return [
    ...columns.map(({ column, targets }) => {
      const fields = targets.map(describeTarget)
      return `  ${column.padEnd(wide)}  →  ${fields.length === 0 ? '(left out)' : fields.join(', ')}`
    }),
    ...constants.map(({ target, value }) => `  ${'(always)'.padEnd(wide)}  →  ${target.field} = ${value}`),
    ...(utc ? ['  Date-times without an offset are taken as UTC.'] : []),
  ]
}
