import { type HashKey, keyedHash } from '../../contract/identity/keys.ts'
import type { Sql } from '../connection/postgres.ts'

/** Binds a new database to this hash key. Returns false if the database is bound to another key. */
export const bindToHashKey = async (sql: Sql, hashKey: HashKey): Promise<boolean> => {
  const proof = proofOf(hashKey)
  const [row] = await sql<{ same: boolean }[]>`
    insert into installation (hash_key_proof) values (${proof})
    on conflict (id) do update set hash_key_proof = installation.hash_key_proof
    returning hash_key_proof = ${proof} as same`
  return row!.same
}

/** Whether the database is bound to this hash key. Undefined if it is bound to no key. */
export const isMadeWith = async (sql: Sql, hashKey: HashKey): Promise<boolean | undefined> => {
  const [row] = await sql<{ same: boolean }[]>`select hash_key_proof = ${proofOf(hashKey)} as same from installation`
  return row?.same
}

const proofOf = (hashKey: HashKey): Buffer => keyedHash(hashKey, 'installation')
