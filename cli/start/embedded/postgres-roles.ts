export const POSTGRES_SUPERUSER = 'postgres'
export const POSTGRES_OWNER = 'feedback_insights'
export const POSTGRES_DATABASE = 'feedback_insights'

export type PostgresPasswords = { readonly superuser: string; readonly owner: string }

/**
 * Makes the database and its owner, who can do in it what the service and its commands need and nothing outside of it:
 * it makes the roles of `npm run reader`, and sees the statements of all connections, which `npm run purge:verify` searches.
 * For the database `postgres`, in single-user mode; may be repeated.
 */
export const rolesAndDatabase = ({ superuser, owner }: PostgresPasswords): readonly string[] => [
  `alter role ${POSTGRES_SUPERUSER} password '${superuser}'`,
  `do $$ begin
    if to_regrole('${POSTGRES_OWNER}') is null then create role ${POSTGRES_OWNER}; end if;
  end $$`,
  `alter role ${POSTGRES_OWNER}
    login nosuperuser createrole nocreatedb noreplication nobypassrls password '${owner}'`,
  `grant pg_read_all_stats to ${POSTGRES_OWNER}`,
  `create database ${POSTGRES_DATABASE} owner ${POSTGRES_OWNER}`,
  `alter database ${POSTGRES_DATABASE} owner to ${POSTGRES_OWNER}`,
  READERS_TO_OWNER,
]

/**
 * Readers that the superuser made before there was an owner. Only plain roles: somebody who may administer a role with more
 * rights has these rights.
 */
const READERS_TO_OWNER = `do $$ declare reader name; begin
    for reader in
      select rolname from pg_roles as r
      where rolname !~ '^pg_' and rolname <> '${POSTGRES_OWNER}'
        and not (rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls)
        and not exists (select from pg_auth_members where member = r.oid)
    loop
      execute format('grant %I to ${POSTGRES_OWNER} with admin true, inherit false, set false', reader);
    end loop;
  end $$`

const OTHERS_OF_SUPERUSER = `owner = '${POSTGRES_SUPERUSER}'::regrole and schema !~ '^pg_' and schema <> 'information_schema'
        and not exists (select from pg_depend as d where d.classid = class and d.objid = id and d.deptype = 'e')`

/**
 * Gives the owner what the superuser made before there was one; `reassign owned` refuses that for the first superuser.
 * For the database of the service, in single-user mode; may be repeated.
 */
export const contentToOwner: readonly string[] = [
  `do $$ declare statement text; begin
    for statement in
      select format('alter %s %s owner to ${POSTGRES_OWNER}', kind, name)
      from (
        select 'schema' as kind, quote_ident(nspname) as name, nspowner as owner, nspname as schema,
          'pg_namespace'::regclass as class, oid as id
        from pg_namespace
        union all
        select 'table', c.oid::regclass::text, c.relowner, n.nspname, 'pg_class', c.oid
        from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
          -- The sequence of a column goes with its table.
          and not exists (
            select from pg_depend as d
            where d.classid = 'pg_class'::regclass and d.objid = c.oid and c.relkind = 'S' and d.deptype in ('a', 'i'))
        union all
        select 'routine', p.oid::regprocedure::text, p.proowner, n.nspname, 'pg_proc', p.oid
        from pg_proc as p join pg_namespace as n on n.oid = p.pronamespace
        union all
        select 'type', t.oid::regtype::text, t.typowner, n.nspname, 'pg_type', t.oid
        from pg_type as t join pg_namespace as n on n.oid = t.typnamespace
        left join pg_class as c on c.oid = t.typrelid
        where t.typtype in ('d', 'e', 'r') or c.relkind = 'c'
      ) as found
      where ${OTHERS_OF_SUPERUSER}
    loop
      execute statement;
    end loop;
  end $$`,
]
