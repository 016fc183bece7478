import process from 'node:process'
import { connectPostgres } from '../../db/connection/postgres.ts'

/** Where a coordinator for tests listens by convention. */
const USUAL_URL = 'postgres://postgres@127.0.0.1:5601/f'
/** Two nodes get a shard each. */
const SHARDS = '2'

/** Whether the tables of the tests are distributed over nodes. */
export const isOnCitus = (): boolean => process.env['CITUS_SHARDS'] !== undefined

/**
 * Lets all tests of this process work on a Citus cluster. Returns why not, if there is none. Call
 * it in a test file that runs by itself.
 */
export const turnToCitus = async (): Promise<string | undefined> => {
  const url = process.env['TEST_CITUS_URL'] || USUAL_URL
  const reason = await whyNot(url)
  if (reason === undefined) Object.assign(process.env, { TEST_DATABASE_URL: url, CITUS_SHARDS: SHARDS })
  return reason
}

const whyNot = async (url: string): Promise<string | undefined> => {
  const sql = connectPostgres(url, { connections: 1, statementTimeoutMs: 5_000, applicationName: 'test' })
  try {
    const [{ nodes }] = await sql<[{ nodes: number }]>`
      select count(*)::int as nodes from pg_dist_node where shouldhaveshards`
    return nodes >= 2 ? undefined : `the coordinator of TEST_CITUS_URL has ${nodes} nodes, and the tests need two`
  } catch {
    return 'TEST_CITUS_URL names no coordinator of Citus, and none listens at the usual address'
  } finally {
    await sql.end({ timeout: 1 })
  }
}
