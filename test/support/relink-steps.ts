import type { Sql } from '../../db/postgres.ts'

/** From then on no statement links more than one reference anew, so that small histories have what large ones have: steps. */
export const linkOneAtATime = async (sql: Sql): Promise<void> => {
  await sql`create or replace function most_relinked_at_once() returns int language sql immutable parallel safe return 1`
}
