import type { Column, RecordTable } from '../../contract/records/columns.ts'
import { KEYS } from '../../contract/records/keys.ts'
import { TABLES } from '../../contract/records/tables.ts'

const WIDTH = 130

const ALL: Readonly<Record<string, RecordTable>> = TABLES

/** The text of db/functions/records-put.sql, without the tables of keys. */
export const putSql = (): string =>
  PUT_HEAD +
  Object.entries(ALL)
    .flatMap(([name, table]) => (name in KEYS || table.onConflict === 'by hand' ? [] : putFunction(name, table)))
    .join('')

/** The text of db/functions/keys-put.sql. */
export const putKeysSql = (): string =>
  PUT_HEAD +
  Object.entries(KEYS)
    .map(([name, table]) => putFunction(name, table))
    .join('')

/** The text of db/functions/records-read.sql. */
export const readSql = (): string =>
  [
    READ_HEAD,
    ...Object.entries(ALL).flatMap(([name, table]) => (table.kind === undefined ? [] : jsonFunction(name, table))),
  ].join('')

const MADE = '-- Made by `npm run records` from contract/records/. Do not edit it.'

const PUT_HEAD = `${MADE}
--
-- put_X writes rows of the table X, as a part of \`save\`, which has locked the workspaces of the rows.
-- sole: as in load.sql. rows: an array of objects with the columns as members. change_position: 0 or
-- less, counted from the last change position of the workspace in this save.
`

const READ_HEAD = `${MADE}
--
-- X_json gives a record as JSON text; null if it does not exist. Members without a value are left out.
-- Y_jsons gives several records of a view. Each call makes its own plan, since a plan from the time of
-- empty tables joins with all rows of a workspace. Several records share the cost of the plan.
`

const jsonFunction = (name: string, { kind, view, columns, joined = {} }: RecordTable): string => {
  const members = Object.entries(columns).flatMap(([column, { read, type }]) =>
    read === undefined ? [] : `'"${read}":' || ${jsonOf(`t.${column}`, type)}`,
  )
  const others = Object.keys(joined).map((member, at) => `'"${member}":' || joined_${at + 1}`)
  // Citus runs no function with a query in a statement that reads a table: so these come first.
  const variables = Object.values(joined).map(({ sql }, at) => `  joined_${at + 1} text := ${sql}(ws, record_id);\n`)
  const record = `concat('{', concat_ws(',',
${wrapped([...members, ...others])}
    ), '}')`
  if (view !== undefined) return jsonsFunction({ kind, view, record })
  return `
create or replace function ${kind}_json(ws uuid, record_id uuid) returns text
  language plpgsql stable as $$
${variables.length > 0 ? `declare\n${variables.join('')}` : ''}begin
  return (
    select ${record}
    from ${name} as t where t.workspace_id = ws and t.id = record_id
  );
end $$;
`
}

const jsonsFunction = ({ kind, view, record }: { kind: RecordTable['kind']; view: string; record: string }): string => `
create or replace function ${kind}_jsons(ws uuid, ids uuid[]) returns table (record_id uuid, record text)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set enable_material = off
  set plan_cache_mode = force_custom_plan
as $$
begin
  return query
    select t.id, ${record}
    from ${view} as t where t.workspace_id = ws and t.id = any (ids);
end $$;
`

const jsonOf = (value: string, type: Column['type']): string => {
  if (type === 'jsonb') return `${value}::text`
  return type === 'timestamptz' ? `json_time(${value})` : `to_json(${value})`
}

const putFunction = (name: string, table: RecordTable): string => {
  const insert = `insert into ${name} as t (
${wrapped(['workspace_id', ...written(table)])})
  select
${wrapped(['g.workspace_id', ...written(table).map((column) => valueOf(column, table))])}
  from ${source(name, table)}
  where (sole is null or g.workspace_id = any (sole))${onConflict(table)}`
  if (table.onConflict !== 'merge')
    return `
create or replace function put_${name}(sole uuid[], rows jsonb) returns void
  language plpgsql as $$
begin
  ${insert};
end $$;
`
  return `
-- Returns the ids of rows with too many metadata keys.
create or replace function put_${name}(sole uuid[], rows jsonb) returns uuid[]
  language plpgsql as $$
declare
  over uuid[];
begin
  with saved as (
  ${insert}
  returning t.id, has_too_many_keys(t.properties) as is_over
  )
  select array_agg(id) filter (where is_over) into over from saved;
  return over;
end $$;
`
}

/** The columns that `save` writes. */
const written = (table: RecordTable): string[] => [
  ...Object.entries(table.columns).flatMap(([name, { isWrittenElsewhere }]) => (isWrittenElsewhere ? [] : name)),
  ...(table.kind === undefined ? [] : ['change_position']),
]

const columnOf = (name: string, { columns }: RecordTable): Column => columns[name] ?? { type: 'bigint' }

const source = (name: string, table: RecordTable): string => {
  const columns = [['workspace_id', 'uuid'], ...written(table).map((column) => [column, columnOf(column, table).type])]
  if (table.onConflict !== 'merge')
    return `jsonb_to_recordset(rows) as r (
${wrapped(typed(columns))})
  ${PROGRESS}`
  return `jsonb_array_elements(rows) as x (given)
  cross join lateral jsonb_to_record(x.given) as r (
${wrapped(typed([...columns, ['has_all_properties', 'boolean']]))})
  ${PROGRESS}
  left join lateral (
    select * from ${name} as c
    where c.workspace_id = g.workspace_id and (sole is null or c.workspace_id = any (sole)) and c.id = r.id limit 1
  ) as h on true`
}

/** A row of a sharded Postgres gets its workspace from a stored row. */
const PROGRESS = 'join workspace_progress as g on g.workspace_id = r.workspace_id'

const typed = (columns: readonly (readonly string[])[]): string[] => columns.map(([name, type]) => `${name} ${type}`)

const valueOf = (name: string, table: RecordTable): string => {
  if (name === 'change_position') return 'g.saved_position + r.change_position'
  if (table.onConflict !== 'merge' || table.key.includes(name)) return `r.${name}`
  const stored = columnOf(name, table).stored ?? 'given'
  switch (stored) {
    case 'members':
      return `case when r.has_all_${name} then r.${name} else coalesce(h.${name} || r.${name}, h.${name}, r.${name}, '{}') end`
    case 'least':
    case 'greatest':
      return `${stored}(h.${name}, r.${name})`
    case 'newest':
      return 'newest_number(h.number, h.newest_number, r.number, r.newest_number)'
    case 'listed':
      return 'coalesce(h.listed_number, h.first_number, r.listed_number)'
    case 'keep':
      return `h.${name}`
    case 'sum':
      return `h.${name} + r.${name}`
    case 'given':
      return `case when x.given ? '${name}' then r.${name} else h.${name} end`
  }
}

const onConflict = (table: RecordTable): string => {
  const key = `
  on conflict (${['workspace_id', ...table.key].join(', ')})`
  switch (table.onConflict) {
    case 'fail':
    case 'by hand':
      return ''
    case 'ignore':
      return `${key} do nothing`
    case 'replace':
    case 'merge':
      return `${key} do update set
${wrapped(replaced(table))}`
  }
}

const replaced = (table: RecordTable): string[] => [
  ...written(table).flatMap((name) => {
    const { stored, correctedBy } = columnOf(name, table)
    if (table.key.includes(name) || stored === 'keep') return []
    // The row to insert into a table that merges has the merged values already.
    if (table.onConflict === 'merge') return `${name} = excluded.${name}`
    if (correctedBy !== undefined)
      return `${name} = case when t.corrections ? '${correctedBy}' then t.${name} else excluded.${name} end`
    if (stored === 'sum') return `${name} = t.${name} + excluded.${name}`
    const isChosen = stored === 'greatest' || stored === 'least'
    return `${name} = ${isChosen ? `${stored}(t.${name}, excluded.${name})` : `excluded.${name}`}`
  }),
  ...uncorrected(table),
]

/** In a table with corrections, a replacement keeps what the source has sent. */
const uncorrected = ({ columns }: RecordTable): string[] => {
  const sent = Object.keys(columns).filter((name) => columns[name]!.correctedBy === name)
  const values = sent.toSorted().map((name) => `excluded.${name}`)
  return sent.length === 0
    ? []
    : [`uncorrected = case when t.corrections is not null then sent_values(${values.join(', ')}) end`]
}

/** A list with commas, in lines of at most `WIDTH` characters. */
const wrapped = (parts: readonly string[]): string => {
  const lines: string[] = []
  let line = ''
  for (const [at, part] of parts.entries()) {
    const text = at < parts.length - 1 ? `${part},` : part
    if (line !== '' && line.length + 1 + text.length > WIDTH) {
      lines.push(line)
      line = ''
    }
    line = line === '' ? `    ${text}` : `${line} ${text}`
  }
  return [...lines, line].join('\n')
}
