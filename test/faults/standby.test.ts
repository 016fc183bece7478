import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { connectPostgres, type Sql } from '../../db/connection/postgres.ts'
import { outputOf, runCommand } from '../support/command.ts'
import { DOCUMENTED_QUERIES } from '../support/readme-commands.ts'
import { fillTables } from '../support/fill-tables.ts'
import { type PostgresPair, startPostgresPair } from '../support/postgres-pair.ts'
import { type Service, startService } from '../support/service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'

const FEEDBACK = 2_000

describe('a standby of Postgres', () => {
  let pair: PostgresPair
  let service: Service
  let standby: Service
  const readers: Sql[] = []
  before(async () => {
    pair = await startPostgresPair({ isSynchronous: false })
    service = await startService({ databaseUrl: pair.url })
    await fillTables(service.sql, FEEDBACK)
    await service.submit('/feedbacks', { description: 'The last of all.', contact: { email: 'last@example.com' } })
    await service.sql`analyze`
    standby = { ...service, environment: { ...service.environment, DATABASE_URL: pair.standbyUrl } }
    await pair.untilStandbyFollows()
  })
  after(async () => {
    await Promise.all(readers.map((sql) => sql.end({ timeout: 1 })))
    await service?.stop()
    await pair?.stop()
  })

  const readerAt = (url: string): Sql => {
    const options = { connections: 1, statementTimeoutMs: 20_000, applicationName: 'test', isReadOnly: true }
    const sql = connectPostgres(url, { ...options, schema: service.redisPrefix })
    readers.push(sql)
    return sql
  }

  it('answers every documented query like the primary', async () => {
    const [atPrimary, atStandby] = [readerAt(pair.url), readerAt(pair.standbyUrl)]
    for (const [title, query] of DOCUMENTED_QUERIES) {
      const rows = await atPrimary.unsafe(query)
      assert.deepEqual([...(await atStandby.unsafe(query))], [...rows], title)
    }
  })

  it('makes the same report, and refuses writes', async () => {
    const directory = temporaryDirectory()
    const atPrimary = await makeReport(service, join(directory, 'primary.html'))
    assert.equal(await makeReport(standby, join(directory, 'standby.html')), atPrimary)
    const { code, stderr } = await runCommand(standby, 'cli/workspace-command.ts', 'create', 'another')
    assert.equal(code, 1)
    assert.match(stderr, /standby|read-only/)
  })

  it('gets a finding of the doctor when it follows, is behind or away, or is a second primary', async () => {
    const doctor = async () => (await runCommand(service, 'cli/doctor/doctor-command.ts')).stdout
    const { host } = new URL(pair.standbyUrl)
    await pair.untilStandbyFollows()
    assert.match(await doctor(), new RegExp(`well +The standby of Postgres at ${host} `))
    await pair.cutOffStandby()
    await until('the standby is behind', async () => {
      await service.submit('/feedbacks', { description: 'The standby does not get this.' })
      return new RegExp(`The standby of Postgres at ${host} is [\\d.]+ MiB behind; its last transaction is`).test(
        await doctor(),
      )
    })
    const withAnother = service.environment['DATABASE_URL']!.replace('@', '@127.0.0.1:1,')
    const asked = { environment: { ...service.environment, DATABASE_URL: withAnother } }
    const { stdout } = await runCommand(asked, 'cli/doctor/doctor-command.ts')
    assert.match(stdout, /warning +Postgres at 127\.0\.0\.1:1 cannot be reached/)
    const readsElsewhere = { ...service.environment, READS_DATABASE_URL: 'postgres://u:p@127.0.0.1:1/d' }
    const { stdout: withReads } = await runCommand({ environment: readsElsewhere }, 'cli/doctor/doctor-command.ts')
    assert.match(withReads, /warning +Postgres at 127\.0\.0\.1:1 cannot be reached/)
    await pair.promote()
    await until('there are two primaries', async () =>
      / all accept writes: they are independent primaries\./.test(await doctor()),
    )
  })
})

/** The page of `npm run report` about a year, without the time at which it was made. */
const makeReport = async (asked: Pick<Service, 'environment'>, out: string): Promise<string> => {
  const period = ['--since', '2026-01-01', '--until', '2026-12-31']
  await outputOf(asked, 'cli/report-command.ts', '--out', out, ...period)
  return readFileSync(out, 'utf8').replaceAll(/\d\d:\d\d(:\d\d)?/g, '')
}
