import type { Sql } from '../../db/connection/postgres.ts'

/** The number of copies of each feedback and receipt, and of each other row. */
type Copies = { readonly feedback: number; readonly others: number }

const FEEDBACK_TABLES = ['feedback', 'submission']
const OTHER_TABLES = [
  'contact',
  'contact_external_id',
  'contact_email',
  'contact_alias',
  'purged_key',
  'account',
  'account_external_id',
  'account_domain',
  'account_name',
  'account_alias',
  'project',
  'conversation',
  'conversation_contact',
  'message',
  'unresolved',
  'tag_share',
  'tag_term',
  'tag_in_use',
  'search_text',
  'search_block',
]
/** Text columns that are keys of rows. */
const KEYS: readonly string[] = [
  'submission.idempotency_key',
  'contact_email.email',
  'account_domain.domain',
  'account_name.name',
  'account_name.domain',
]
/** Tables that grow with submissions. */
export const GROWING_TABLES: readonly string[] = [...FEEDBACK_TABLES, ...OTHER_TABLES]

/** Disables autovacuum of GROWING_TABLES: its reads of whole indexes would count. */
export const keepVacuumAway = async (sql: Sql): Promise<void> => {
  const tables = await sql<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
    where relkind = 'r' and coalesce(pg_partition_root(oid), oid) = any (${GROWING_TABLES}::text[]::regclass[])`
  for (const { name } of tables) await sql.unsafe(`alter table ${name} set (autovacuum_enabled = false)`)
}

type Column = { name: string; isId: boolean; isHash: boolean }

/**
 * Multiplies the rows of GROWING_TABLES in a schema. A copy has another id, and refers to copies.
 * This function creates no database objects, since other connections would then plan their
 * statements again.
 */
export const multiplyRows = async (sql: Sql, copies: Copies): Promise<void> => {
  for (const table of GROWING_TABLES) {
    const columns = await sql<Column[]>`
      select quote_ident(column_name) as name, data_type = 'uuid' and column_name <> 'workspace_id' as "isId",
        column_name = 'hash' as "isHash"
      from information_schema.columns
      where table_schema = current_schema() and table_name = ${table} and is_generated = 'NEVER'
      order by ordinal_position`
    const isFeedback = FEEDBACK_TABLES.includes(table)
    const value = ({ name, isId, isHash }: Column): string => {
      if (KEYS.includes(`${table}.${name}`)) return `${name} || '/' || copy`
      if (name === 'number' && table === 'search_text') return `${name} + 4096 * copy`
      if (isHash) return `${name} + copy`
      if (!isId) return name
      return `md5(${name} || '/' || ${isFeedback && name !== 'id' ? `1 + copy % ${copies.others}` : 'copy'})::uuid`
    }
    const count = isFeedback ? copies.feedback : copies.others
    await sql.unsafe(`
      insert into ${table} (${columns.map(({ name }) => name).join(', ')})
      select ${columns.map(value).join(', ')} from ${table}, generate_series(1, ${count}) as copy`)
  }
}

// Bodies for a round of a test. Each index has its own people.

export const feedbackInRound = (round: string, index: number) => ({
  description: 'slow',
  contact: { email: `person-${round}-${index}@x.example`, name: `Person ${index}` },
  account: { name: `Company ${round} ${index}`, domain: `company-${round}-${index}.example` },
  project: { name: `Project ${round} ${index}` },
  tags: ['slow', 'export'],
  sourceId: `ticket-${round}-${index}`,
})

export const contactInRound = (round: string, index: number) => ({
  id: `user-${round}-${index}`,
  source: 'crm',
  properties: { $email: `person-${round}-${index}@x.example`, plan: 'team' },
  account: {
    id: `company-${round}-${index}`,
    properties: { $name: `Company ${round} ${index}`, $domain: `company-${round}-${index}.example` },
  },
})

const SOMETIME = '2026-01-31T09:30:00Z'
export const conversationInRound = (round: string, index: number) => ({
  id: `chat-${round}-${index}`,
  source: 'chat',
  createdAt: SOMETIME,
  contacts: [contactInRound(round, index)],
  messages: Array.from({ length: 10 }, (_, place) => ({
    id: `message-${place}`,
    incoming: place % 2 === 0,
    contactId: place % 3 === 0 ? `stranger-${round}-${index}` : `user-${round}-${index}`,
    content: 'slow',
    createdAt: SOMETIME,
    properties: {},
  })),
  properties: {},
})

/**
 * Rows read by sequential scans, entries read by index scans, and read pages of indexes. The pages
 * reveal a scan through an index for a column that is not its first.
 */
export type Reads = { readonly sequential: number; readonly entries: number; readonly pages: number }

/**
 * Returns the reads of `work` by table, partitions included. `sql` must have one connection, and
 * `work` must use no other.
 */
export const readsOf = async (sql: Sql, work: () => Promise<unknown>): Promise<Map<string, Reads>> => {
  const before = await readSoFar(sql)
  await work()
  const after = await readSoFar(sql)
  return new Map(
    [...after].map(([table, reads]) => {
      const former = before.get(table) ?? { sequential: 0, entries: 0, pages: 0 }
      return [
        table,
        {
          sequential: reads.sequential - former.sequential,
          entries: reads.entries - former.entries,
          pages: reads.pages - former.pages,
        },
      ]
    }),
  )
}

const readSoFar = async (sql: Sql): Promise<Map<string, Reads>> => {
  // By itself, a connection reports its reads at most once a second.
  await sql`select pg_stat_force_next_flush()`
  await sql`select pg_stat_clear_snapshot()`
  const rows = await sql<{ table: string; sequential: string; entries: string; pages: string }[]>`
    select root.relname as table, sum(t.seq_tup_read) as sequential, sum(i.entries) as entries, sum(i.pages) as pages
    from pg_stat_user_tables as t
    join pg_class as root on root.oid = coalesce(pg_partition_root(t.relid), t.relid)
    cross join lateral (
      select coalesce(sum(idx_tup_read), 0) as entries, coalesce(sum(idx_blks_read + idx_blks_hit), 0) as pages
      from pg_stat_user_indexes join pg_statio_user_indexes using (relid, indexrelid)
      where relid = t.relid
    ) as i
    where t.schemaname = current_schema()
    group by root.relname`
  return new Map(
    rows.map(({ table, sequential, entries, pages }) => [
      table,
      { sequential: Number(sequential), entries: Number(entries), pages: Number(pages) },
    ]),
  )
}
