import type { Sql } from '../../db/postgres.ts'

/** The tables that users read, their columns, and what orders their rows. Generated tags and times of processing are left out. */
const TABLES: Readonly<Record<string, string>> = {
  contact:
    'id, name, email, contract_value, account_id, source_created_at, source_updated_at, properties, created_at, updated_at',
  contact_external_id: 'source, external_id, contact_id',
  account: 'id, name, domain, contract_value, source_created_at, source_updated_at, properties, created_at, updated_at',
  account_external_id: 'source, external_id, account_id',
  project: 'id, name',
  feedback:
    'id, description, title, is_transcript, case when tags_generated then null else tags end as tags, tags_generated, rating, ' +
    'source, source_id, source_data, contact_id, account_id, project_id, accepted_at, updated_at',
  conversation: 'id, external_id, source, title, rating, properties, created_at, updated_at',
  conversation_contact: 'conversation_id, contact_id',
  message: 'id, conversation_id, external_id, incoming, contact_id, content, source_url, raw_data, created_at',
  feedback_category: 'id, title',
}

export type Dump = Record<string, unknown[]>

/** Everything users can read, ordered, so that two databases can be compared. */
export const dumpTables = async (sql: Sql): Promise<Dump> => {
  const dump: Dump = {}
  for (const [table, columns] of Object.entries(TABLES)) {
    const rows = await sql.unsafe<{ row: unknown }[]>(
      `select to_jsonb(t) as row from (select workspace_id, ${columns} from ${table}) as t order by to_jsonb(t)::text collate "C"`,
    )
    dump[table] = rows.map(({ row }) => row)
  }
  return dump
}

const INTERNAL = [
  'superseded_reference',
  'identity_key',
  'identity_claim',
  'unresolved_reference',
  'submission',
  'ledger',
  'dead_submission',
]

/** Empties every table of the schema. */
export const clearTables = async (sql: Sql): Promise<void> => {
  await sql.unsafe([...Object.keys(TABLES), ...INTERNAL].map((table) => `delete from ${table}`).join(';'))
}
