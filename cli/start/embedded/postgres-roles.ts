export const POSTGRES_SUPERUSER = 'postgres'
export const POSTGRES_OWNER = 'feedback_insights'
export const POSTGRES_DATABASE = 'feedback_insights'

export type PostgresPasswords = { readonly superuser: string; readonly owner: string }

/**
 * Statements that make the database and its owner. The owner has the rights that the service and
 * its commands need, and none outside of the database. It can create the roles of `npm run reader`,
 * and see the statements of all connections, which `npm run purge:verify` searches. The statements
 * are for single-user mode, and can be repeated.
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
]
