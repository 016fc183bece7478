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

/** The same without binding the database. Undefined while the database is bound to no key. */
export const isMadeWith = async (sql: Sql, hashKey: HashKey): Promise<boolean | undefined> => {
  const [row] = await sql<{ same: boolean }[]>`select hash_key_proof = ${proofOf(hashKey)} as same from installation`
  return row?.same
}

const proofOf = (hashKey: HashKey): Buffer => keyedHash(hashKey, 'installation')
