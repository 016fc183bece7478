import type { Service } from './service.ts'

/** The tables that have a row with this text in any column. */
export const tablesWith = async ({ sql }: Pick<Service, 'sql'>, text: string): Promise<string[]> => {
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables
    where table_schema = current_schema() and table_type = 'BASE TABLE' order by table_name`
  const found = await Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await sql<{ found: boolean }[]>`
        select exists (select from ${sql(name)} as t where strpos(to_jsonb(t)::text, ${text}) > 0) as found`
      return row!.found ? [name] : []
    }),
  )
  return found.flat()
}
