import type { Sql } from './postgres.ts'

/**
 * Does `work` in one transaction, for a command that runs alone: all or nothing. A statement after
 * the death of the connection would run outside the transaction. So the transaction is compared at
 * the end.
 *
 * @throws before the commit when the transaction has changed
 */
export const inTransaction = async <T>(sql: Sql, work: (transaction: Sql) => Promise<T>): Promise<T> => {
  const result = await sql.begin(async (begun) => {
    const transaction = begun as unknown as Sql
    const before = await transactionId(transaction)
    const value = await work(transaction)
    if ((await transactionId(transaction)) !== before) throw new Error('The transaction has ended too early.')
    return { value }
  })
  return result.value
}

const transactionId = async (sql: Sql): Promise<string> => {
  const [{ id }] = await sql<[{ id: string }]>`select pg_current_xact_id()::text as id`
  return id
}
