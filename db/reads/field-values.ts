import type { SourceField } from '../sources.ts'

// The values of declared fields as SQL over feedback `r`, as `feedback_view.fields` has them.

/** All declared fields of the workspace, as `listFields` returns them. */
export type DeclaredFields = readonly SourceField[]

/** A text as SQL. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Joins the contact `c` and the account `a` to feedback `r`. */
export const OWNER_JOINS = `
  left join contact as c on c.workspace_id = r.workspace_id and c.id = r.contact_id
  left join account as a on a.workspace_id = r.workspace_id and a.id = coalesce(r.account_id, c.account_id)`

const RECORDS = { feedback: 'r.source_data', contact: 'c.properties', account: 'a.properties' } as const

/** Whether a value of one of these fields takes `OWNER_JOINS`. */
export const hasOwners = (names: readonly string[], declared: DeclaredFields): boolean =>
  declared.some(({ name, of }) => of !== 'feedback' && names.includes(name))

/**
 * The value of a field, as text. The declaration of the source of the feedback counts. Else the first
 * declaration of contacts or accounts counts, since these have no source of their own.
 */
export const fieldValue = (name: string, declared: DeclaredFields): string => {
  const named = declared.filter((field) => field.name === name)
  const everywhere = named.find(({ of }) => of !== 'feedback')
  const values = named.map((field) => `when ${literal(field.source)} then ${valueAt(field)}`)
  if (values.length === 0) return 'null::text'
  return `case r.source ${values.join(' ')} else ${everywhere ? valueAt(everywhere) : 'null'} end`
}

/** The same for statements without `OWNER_JOINS`. */
export const fieldValueAlone = (name: string, declared: DeclaredFields = []): string =>
  hasOwners([name], declared)
    ? `(select ${fieldValue(name, declared)} 
      from (select r.workspace_id, r.contact_id, r.account_id, r.source, r.source_data) as r ${OWNER_JOINS})`
    : fieldValue(name, declared)

/** A member with the whole path as its name comes before members within each other. */
const valueAt = ({ of, path }: SourceField): string => {
  const record = RECORDS[of]
  const value = path.includes('.')
    ? `coalesce(${record} -> ${literal(path)}, ${record} #> string_to_array(${literal(path)}, '.'))`
    : `${record} -> ${literal(path)}`
  return `case when jsonb_typeof(${value}) in ('string', 'number', 'boolean') then (${value}) #>> '{}' end`
}
