import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { connectPostgres, type Sql } from '../../db/connection/postgres.ts'
import { type Between, standBetween } from '../support/between.ts'
import { testServers } from '../support/servers.ts'
import { until } from '../support/until.ts'

/**
 * Connections without an answer: that of the waiting statement, and one for each check. After five
 * failed checks, the former connections count as lost.
 */
const UNANSWERED = 7

describe('a primary whose answers are lost for a while', () => {
  let between: Between
  let sql: Sql
  let isSilent = false
  const asking = new Set<object>()
  before(async () => {
    between = await standBetween(testServers().databaseUrl, {
      request: (_, client) => {
        if (isSilent) asking.add(client)
        return true
      },
      answer: () => !isSilent,
    })
    const url = new URL(between.url)
    url.searchParams.set('target_session_attrs', 'read-write')
    sql = connectPostgres(url.href, { connections: 1, statementTimeoutMs: 60_000, applicationName: 'test' })
  })
  after(async () => {
    await sql.end({ timeout: 1 })
    between.stop()
  })

  it('gets new connections when it answers again, and statements on the former connections fail', async () => {
    await sql`select 1`
    isSilent = true
    let hasFailed = false
    const lost = assert.rejects(sql`select 2`, /CONNECTION/).then(() => (hasFailed = true))
    await until('the process has checked often', () => Promise.resolve(asking.size >= UNANSWERED))
    isSilent = false
    await until('the waiting statement has failed', () => Promise.resolve(hasFailed))
    await lost
    assert.equal((await sql`select 3`).count, 1)
  })
})
