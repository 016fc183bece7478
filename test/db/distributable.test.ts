import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { freshSchema, type TestSchema } from '../support/schema.ts'

const FIRST = 'workspace_id'

/** Tables of the installation as a whole, each with why it cannot grow with what is submitted. */
const OF_THE_INSTALLATION: Readonly<Record<string, string>> = {
  workspace: 'a row for each workspace; found by its name as well',
  deleted_workspace: 'a row for each workspace that an operator deleted',
  token: 'a row for each token; found by its hash, before it is known whose it is',
  installation: 'one row',
  schema_migration: 'a row for each migration',
  schema_functions: 'one row',
}

const OWN_ID = 'asked with an id that is a keyed hash of the workspace and more, so that it means one workspace already'
const NUMBER = 'asked with an acceptance number, a time in microseconds: hardly any two workspaces share one'
const SECOND = 'asked with the workspace as its second column: one that began with it would be taken for other look-ups'
const UPKEEP = 'asked by upkeep for all workspaces at once, in the order of time'

/** Indexes that do not begin with the workspace; none of them is unique. */
const WITHOUT_WORKSPACE: Readonly<Record<string, string>> = {
  account_external_id_account: OWN_ID,
  contact_account: OWN_ID,
  contact_external_id_contact: OWN_ID,
  conversation_contact_contact: OWN_ID,
  dead_submission_keys: OWN_ID,
  dead_submission_replayed_at: UPKEEP,
  feedback_account: OWN_ID,
  feedback_contact: OWN_ID,
  feedback_project: OWN_ID,
  fence_group: OWN_ID,
  fence_id: OWN_ID,
  fence_next: OWN_ID,
  fence_number: NUMBER,
  idempotency_key_concerns: OWN_ID,
  idempotency_key_number: UPKEEP,
  identity_claim_target: OWN_ID,
  identity_key_group: OWN_ID,
  identity_key_subject: OWN_ID,
  message_contact: OWN_ID,
  message_conversation: OWN_ID,
  submission_finished: UPKEEP,
  superseded_reference_account: OWN_ID,
  superseded_reference_contact: OWN_ID,
  superseded_reference_project: OWN_ID,
  tag_share_oldest: SECOND,
  unresolved_reference_record: OWN_ID,
}

type Column = { table: string; isUuid: boolean; isRequired: boolean }
type Index = { table: string; name: string; isPrimary: boolean; isUnique: boolean; first: string | null }

describe('the schema can be distributed by workspace', () => {
  let schema: TestSchema
  let tables: string[]
  let indexes: Index[]
  before(async () => {
    schema = await freshSchema()
    const found = await schema.sql<{ name: string }[]>`
      select relname as name from pg_class where relkind in ('r', 'p') and relnamespace = ${schema.name}::regnamespace`
    tables = found.map(({ name }) => name).filter((name) => !(name in OF_THE_INSTALLATION))
    indexes = await schema.sql<Index[]>`
      select t.relname as table, i.relname as name, x.indisprimary as "isPrimary", x.indisunique as "isUnique", a.attname as first
      from pg_index as x
      join pg_class as t on t.oid = x.indrelid
      join pg_class as i on i.oid = x.indexrelid
      left join pg_attribute as a on a.attrelid = t.oid and a.attnum = x.indkey[0]
      where t.relnamespace = ${schema.name}::regnamespace and t.relname = any (${tables}::text[])
      order by i.relname`
  })
  after(() => schema?.drop())

  it('every table that grows says whose each row is, in one type', async () => {
    const columns = await schema.sql<Column[]>`
      select c.relname as table, a.atttypid = 'uuid'::regtype as "isUuid", a.attnotnull as "isRequired"
      from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attname = ${FIRST}
      where c.relnamespace = ${schema.name}::regnamespace and c.relname = any (${tables}::text[])`
    const fit = columns.filter(({ isUuid, isRequired }) => isUuid && isRequired).map(({ table }) => table)
    assert.deepEqual(fit.toSorted(), tables.toSorted())
  })

  it('every one has a primary key, and that and every unique index begin with the workspace', () => {
    const keyed = indexes.filter(({ isPrimary }) => isPrimary).map(({ table }) => table)
    assert.deepEqual(keyed.toSorted(), tables.toSorted())
    assert.deepEqual(
      indexes.filter(({ isUnique, first }) => isUnique && first !== FIRST),
      [],
    )
  })

  it('every other index begins with it too, but for those that are listed with their reason', () => {
    const others = indexes.filter(({ isUnique, first }) => !isUnique && first !== FIRST).map(({ name }) => name)
    assert.deepEqual(others, Object.keys(WITHOUT_WORKSPACE).toSorted())
  })

  it('no foreign key leads from one table that grows to another, or to one that does not', async () => {
    const keys = await schema.sql`
      select conname from pg_constraint
      where contype = 'f' and connamespace = ${schema.name}::regnamespace
        and conrelid = any (select oid from pg_class where relname = any (${tables}::text[]))`
    assert.equal(keys.count, 0)
  })
})
