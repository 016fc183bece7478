import { type HashKey, keyedHash } from '../../contract/identity/keys.ts'
import type { Sql } from '../connection/postgres.ts'

/**
 * True if the database was made with this hash key. The first process that asks binds the database
 * to its key.
 */
export const belongsToHashKey = async (sql: Sql, hashKey: HashKey): Promise<boolean> => {
  const proof = proofOf(hashKey)
  const [row] = await sql<{ same: boolean }[]>`
    insert into installation (hash_key_proof) values (${proof})
    on conflict (id) do update set hash_key_proof = installation.hash_key_proof
    returning hash_key_proof = ${proof} as same`
  return row!.same
}

/** The same without binding the database: false before the first process has started on it. */
export const isMadeWith = async (sql: Sql, hashKey: HashKey): Promise<boolean> =>
  (await sql`select from installation where hash_key_proof = ${proofOf(hashKey)}`).count > 0

const proofOf = (hashKey: HashKey): Buffer => keyedHash(hashKey, 'installation')
