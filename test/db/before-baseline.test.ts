import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import * as fc from 'fast-check'
import type * as Migrate from '../../db/migrate.ts'
import { isMigrated, migrate, MigrationRefused, readMigrations } from '../../db/migrate.ts'
import { store } from '../../db/store.ts'
import { applyAll } from '../model/model.ts'
import { catalogueText } from '../support/catalogue.ts'
import { hashKey, histories, toRows } from '../support/deliveries.ts'
import { extract, findVersionBeforeBaseline } from '../support/former-version.ts'
import { seeded } from '../support/property-seed.ts'
import { emptySchema, freshSchema, type TestSchema } from '../support/schema.ts'
import { dumpModel, dumpTables } from '../support/tables.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { whileStoring } from '../support/while-storing.ts'

const HISTORIES = 5
/** The version before knew no `createdAt`. */
const undated = histories.map((history) =>
  history.map((job) =>
    job.operation === 'create_feedback' ? { ...job, body: { ...job.body, createdAt: null } } : job,
  ),
)
/** It kept all keys of a contact, and those stay that nobody says anything about afterwards. */
const ofFewKeys = undated.filter(
  (history) => history.filter(({ body }) => JSON.stringify(body).includes('"k600":')).length <= 1,
)
const CONNECTIONS = 5

const version = findVersionBeforeBaseline()

describe('a database of before the baseline', () => {
  if (version === undefined) {
    void it.skip('needs the history of this repository', () => {})
    return
  }
  const directory = temporaryDirectory()
  extract(version, directory)
  const schemas: TestSchema[] = []
  after(() => Promise.all(schemas.map((schema) => schema.drop())))
  const theirs = () => import(pathToFileURL(join(directory, 'db/migrate.ts')).href) as Promise<typeof Migrate>
  /** A schema as the version before left it, at its 21st migration unless told otherwise. */
  const formerSchema = async (last = 21): Promise<TestSchema> => {
    const schema = await emptySchema(CONNECTIONS)
    schemas.push(schema)
    const former = await theirs()
    const migrations = await former.readMigrations()
    await former.migrate(
      schema.sql,
      migrations.filter(({ number }) => number <= last),
    )
    return schema
  }

  it('comes to the same catalogue and goes on where it was, at migration 21', async () => {
    const fresh = await freshSchema()
    schemas.push(fresh)
    await fc.assert(
      fc.asyncProperty(ofFewKeys, async (history) => {
        const { sql } = await formerSchema()
        const noted = await sql`select * from schema_migration order by number`
        const rows = history.map(toRows)
        const half = Math.floor(rows.length / 2)
        await store(sql, rows.slice(0, half))
        await migrate(sql, await readMigrations())
        await store(sql, rows.slice(half))
        assert.equal(await catalogueText(sql), await catalogueText(fresh.sql))
        assert.deepEqual(
          [...(await sql`select * from schema_migration where number <= 21 order by number`)],
          [...noted],
        )
        assert.deepEqual(await dumpTables(sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it('is taken over under whoever stores, and nobody fails', async () => {
    await fc.assert(
      fc.asyncProperty(undated, async (history) => {
        const { sql } = await formerSchema()
        await whileStoring(sql, history, async () => void (await migrate(sql, await readMigrations())))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it('lets the version before start again, and its migrate refuses to change anything, as with a new one', async () => {
    const former = await theirs()
    for (const schema of [await formerSchema(), await emptySchema()]) {
      if (!schemas.includes(schema)) schemas.push(schema)
      const { sql } = schema
      await migrate(sql, await readMigrations())
      const ours = await catalogueText(sql)
      await assert.rejects(former.migrate(sql, await former.readMigrations()), /Start a newer version/)
      assert.ok(await former.isMigrated(sql, await former.readMigrations()))
      assert.equal(await catalogueText(sql), ours)
    }
  })

  it('is refused with the release to pass through, at migration 20', async () => {
    const { sql } = await formerSchema(20)
    const before = await catalogueText(sql)
    await assert.rejects(
      migrate(sql, await readMigrations()),
      (error) => error instanceof MigrationRefused && /at migration 20, .* with release 0\.1 first/.test(error.message),
    )
    assert.equal(await catalogueText(sql), before)
    assert.ok(!(await isMigrated(sql, await readMigrations())))
  })
})
