import { randomBytes } from 'node:crypto'
import type { Sql } from '../connection/postgres.ts'

/** The tables and views for people. All other tables are internal. */
export const READABLE_TABLES = [
  'account',
  'account_external_id',
  'alert',
  'contact',
  'contact_external_id',
  'conversation',
  'conversation_contact',
  'digest',
  'feedback',
  'feedback_category',
  'feedback_tag',
  'feedback_view',
  'message',
  'project',
  'source',
  'submission',
  'theme',
  'workspace',
] as const

const PASSWORD_BYTES = 24
/**
 * A forgotten query stops vacuum from clearing the rows that purges removed. The role can raise
 * this limit for itself, as any role of Postgres can.
 */
const STATEMENT_TIMEOUT = '5min'
/** The most connections of a reader, so that the services keep theirs. */
const MOST_CONNECTIONS = 10

/**
 * Creates a login role with the right to read READABLE_TABLES, and no other right on tables of this
 * schema. Returns its password, which is stored nowhere.
 *
 * @throws if a role of this name exists, or if the user of DATABASE_URL may not create roles.
 */
export const createReader = async (sql: Sql, name: string): Promise<string> => {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url')
  const [{ statements }] = await sql<[{ statements: string }]>`
    select concat_ws(E';\n',
      format('create role %I login password %L nosuperuser nocreatedb nocreaterole noinherit connection limit %s',
        ${name}::text, ${password}::text, ${MOST_CONNECTIONS}::text),
      -- Every role may create temporary tables unless the owner of the database revokes that.
      (select format('revoke temporary on database %I from public', datname) from pg_database
       where datname = current_database() and pg_has_role(current_user, datdba, 'usage')),
      format('alter role %I set default_transaction_read_only = on', ${name}::text),
      format('alter role %I set statement_timeout = %L', ${name}::text, ${STATEMENT_TIMEOUT}::text),
      format('alter role %I set search_path = %I', ${name}::text, current_schema()),
      format('grant usage on schema %I to %I', current_schema(), ${name}::text),
      (select string_agg(format('grant select on %I.%I to %I', current_schema(), t, ${name}::text), E';\n')
       from unnest(${READABLE_TABLES}::text[]) as t)) as statements`
  await sql.unsafe(statements)
  return password
}

/**
 * Whether a role can store data as large objects, as every role can unless a superuser has revoked
 * that right.
 */
export const canMakeLargeObjects = async (sql: Sql, name: string): Promise<boolean> => {
  const [row] = await sql<{ can: boolean }[]>`
    select bool_or(has_function_privilege(${name}, f, 'execute')) as can
    from unnest(array['lo_creat(integer)', 'lo_create(oid)', 'lo_from_bytea(oid, bytea)']::regprocedure[]) as f`
  return row!.can
}

/**
 * Drops the role with its grants, default privileges and large objects in this database. Returns
 * `owner` and drops nothing if the role owns other objects, such as tables, which would be dropped
 * as well. The statements first make the current user a member of the role, since only a member or
 * a superuser can drop its grants.
 */
export const dropReader = async (sql: Sql, name: string): Promise<'dropped' | 'unknown' | 'owner'> => {
  const [role] = await sql<{ isOwner: boolean; statements: string }[]>`
    select exists (
        select from pg_shdepend
        where refclassid = 'pg_authid'::regclass and refobjid = r.oid and deptype = 'o'
          and classid not in ('pg_largeobject'::regclass, 'pg_default_acl'::regclass)
      ) as "isOwner",
      format('grant %1$I to current_user; drop owned by %1$I; drop role %1$I', rolname) as statements
    from pg_roles as r where rolname = ${name}`
  if (role === undefined) return 'unknown'
  if (role.isOwner) return 'owner'
  await sql.unsafe(role.statements)
  return 'dropped'
}
