import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { EmbeddedServer } from '../../cli/start/embedded/server.ts'
import { startPostgres } from '../../cli/start/embedded/postgres-server.ts'
import { migrate, readMigrations } from '../../db/schema/migrate.ts'
import { connectPostgres, type Sql } from '../../db/connection/postgres.ts'
import { createReader, READABLE_TABLES } from '../../db/schema/readers.ts'
import { DEFAULT_WORKSPACE } from '../../db/workspaces/workspaces.ts'
import { DOCUMENTED_QUERIES } from '../support/readme-commands.ts'
import { fillTables } from '../support/fill-tables.ts'
import { superuserUrl } from '../support/superuser.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const SITES = ['east', 'west'] as const
const FEEDBACK = { east: 2_000, west: 1_000 }
const READER = 'insights'
const ABOUT_A_WORKSPACE = DOCUMENTED_QUERIES.filter(([, query]) => query.includes(`'${DEFAULT_WORKSPACE}'`))

type Installation = { server: EmbeddedServer; superuserUrl: string; readerUrl: string }

const [, RECIPE = ''] =
  /^## Several installations, read as one\n[\s\S]*?^```console\n([\s\S]*?)^```$/m.exec(
    readFileSync(new URL('../../docs/growing.md', import.meta.url), 'utf8'),
  ) ?? []

/** The address of a database of a server. */
const at = (url: string, database: string, user?: { name: string; password: string }): string => {
  const changed = new URL(url)
  changed.pathname = `/${database}`
  if (user) [changed.username, changed.password] = [user.name, user.password]
  return changed.href
}

describe('two installations, each with its own Postgres', () => {
  const directory = temporaryDirectory()
  const installations = new Map<string, Installation>()
  const pools: Sql[] = []
  /** The database in which people query both. */
  let together: Sql

  const connect = (url: string): Sql => {
    const sql = connectPostgres(url, { connections: 1, statementTimeoutMs: 60_000, applicationName: 'test' })
    pools.push(sql)
    return sql
  }
  const install = async (site: (typeof SITES)[number]): Promise<Installation> => {
    const dataDir = join(directory, site)
    const server = await startPostgres({ dataDir })
    const owner = connect(server.url)
    await migrate(owner, await readMigrations())
    await fillTables(owner, FEEDBACK[site])
    await owner`update workspace set name = ${site} where name = ${DEFAULT_WORKSPACE}`
    const password = await createReader(owner, READER)
    await owner`analyze`
    return {
      server,
      superuserUrl: superuserUrl(dataDir, server.url),
      readerUrl: at(server.url, new URL(server.url).pathname.slice(1), { name: READER, password }),
    }
  }
  /** The recipe with the addresses of these servers. */
  const recipe = (): string =>
    [...installations].reduce((text, [site, { readerUrl }]) => {
      const { hostname, port, pathname, password } = new URL(readerUrl)
      return text
        .replace(
          `host 'postgres.${site}.example', port '5432', dbname 'feedback'`,
          `host '${hostname}', port '${port}', dbname '${pathname.slice(1)}'`,
        )
        .replace(`that of ${site}`, password)
    }, RECIPE)

  before(async () => {
    for (const site of SITES) installations.set(site, await install(site))
    const { superuserUrl: url, readerUrl } = installations.get('east')!
    await connect(url)`create database together`
    await connect(at(url, 'together')).unsafe(recipe())
    together = connect(at(readerUrl, 'together'))
  })
  after(async () => {
    await Promise.all(pools.map((sql) => sql.end({ timeout: 1 })))
    await Promise.all([...installations.values()].map(({ server }) => server.stop()))
  })

  it('can be read together through all tables that people query', async () => {
    const views = await together<{ name: string }[]>`
      select viewname as name from pg_views where schemaname = 'public' order by viewname`
    assert.deepEqual(
      views.map(({ name }) => name),
      [...READABLE_TABLES],
    )
    const [{ feedback }] = await together<[{ feedback: number }]>`select count(*)::int as feedback from feedback`
    assert.equal(feedback, FEEDBACK.east + FEEDBACK.west)
  })

  for (const site of SITES) {
    it(`give the same answers together as ${site} alone, to every documented query about its workspace`, async () => {
      const alone = connect(installations.get(site)!.readerUrl)
      for (const [title, query] of ABOUT_A_WORKSPACE) {
        const ofSite = query.replaceAll(`'${DEFAULT_WORKSPACE}'`, `'${site}'`)
        assert.deepEqual([...(await together.unsafe(ofSite))], [...(await alone.unsafe(ofSite))], title)
      }
    })
  }
})
