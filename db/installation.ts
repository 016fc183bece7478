import { createHmac } from 'node:crypto'
import type { HashKey } from './contract/own-id.ts'
import type { Sql } from './postgres.ts'

/** True when the database was made with this hash key; the first to ask makes it so. */
export const belongsToHashKey = async (sql: Sql, hashKey: HashKey): Promise<boolean> => {
  const proof = createHmac('sha256', hashKey).update('installation').digest()
  const [row] = await sql<{ same: boolean }[]>`
    insert into installation (hash_key_proof) values (${proof})
    on conflict (id) do update set hash_key_proof = installation.hash_key_proof
    returning hash_key_proof = ${proof} as same`
  return row!.same
}
