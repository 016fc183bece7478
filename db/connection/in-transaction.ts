import type { Sql } from './postgres.ts'

/**
 * Does `work` in one transaction, for a command whose pool has one connection and that runs alone.
 * The driver's own `begin` does not work with `max_pipeline: 0`. After a death of the connection,
 * further statements would run outside the transaction. So `work` gets the id of the transaction,
 * for statements that must not do that, and the id is compared before the commit.
 */
export const inTransaction = async <T>(sql: Sql, work: (transactionId: string) => Promise<T>): Promise<T> => {
  await sql.unsafe('begin')
  try {
    const id = await currentId(sql)
    const result = await work(id)
    if ((await currentId(sql)) !== id) throw new Error('The transaction has ended before its commit.')
    await sql.unsafe('commit')
    return result
  } catch (error) {
    await sql.unsafe('rollback').catch(() => {})
    throw error
  }
}

const currentId = async (sql: Sql): Promise<string> => {
  const [{ id }] = await sql<[{ id: string }]>`select pg_current_xact_id()::text as id`
  return id
}
