import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { after, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { checksumOf, type Functions, readFunctions } from '../../db/functions.ts'
import { isMigrated, migrate, MigrationRefused, readMigrations } from '../../db/migrate.ts'
import { store } from '../../db/store.ts'
import { applyAll } from '../model/model.ts'
import { readSourceFiles } from '../check/source-files.ts'
import { catalogueText } from '../support/catalogue.ts'
import { hashKey, histories, toRows } from '../support/deliveries.ts'
import { extract, findVersionBeforeBaseline } from '../support/former-version.ts'
import { seeded } from '../support/property-seed.ts'
import { emptySchema, freshSchema, type TestSchema } from '../support/schema.ts'
import { dumpModel, dumpTables } from '../support/tables.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const HISTORIES = 5
const WORKERS = 4
const ROUNDS = 8
const MOST_LINES_OF_A_FILE = 300
const MOST_LINES_OF_A_FUNCTION = 60
const FUNCTION = /^create or replace function (\w+)\([\s\S]*?\$\$;$/gm

const textOf = (folder: string, file: string): string =>
  readFileSync(new URL(`../../db/${folder}/${file}`, import.meta.url), 'utf8')
const sqlFilesIn = (folder: string): string[] =>
  readdirSync(new URL(`../../db/${folder}/`, import.meta.url)).filter((file) => file.endsWith('.sql'))

describe('the text of SQL functions', () => {
  const texts = sqlFilesIn('functions').map((file) => textOf('functions', file))
  const functions = texts.flatMap((text) => [...text.matchAll(FUNCTION)].map(([whole, name = '']) => ({ name, whole })))

  it('is what edition.json is of; else count it up: npm run schema', async () => {
    const functions = await readFunctions()
    assert.equal(functions.checksum, checksumOf(functions))
  })

  it(`has ${MOST_LINES_OF_A_FUNCTION} lines a function at most, and ${MOST_LINES_OF_A_FILE} a file`, () => {
    const long = functions.filter(({ whole }) => whole.split('\n').length > MOST_LINES_OF_A_FUNCTION)
    assert.deepEqual(
      long.map(({ name }) => name),
      [],
    )
    for (const folder of ['functions', 'migrations']) {
      const files = sqlFilesIn(folder).filter((file) => textOf(folder, file).split('\n').length > MOST_LINES_OF_A_FILE)
      assert.deepEqual(files, [])
    }
  })

  it('has each function once, and none that nothing calls', () => {
    const names = functions.map(({ name }) => name)
    assert.equal(new Set(names).size, names.length)
    const migrations = sqlFilesIn('migrations').map((file) => textOf('migrations', file))
    const sources = readSourceFiles(new URL('../..', import.meta.url).pathname)
      .filter(({ path }) => !path.startsWith('test/'))
      .map(({ text }) => text)
    const callers = [...texts, ...migrations, ...sources].join('\n')
    const uncalled = names.filter(
      (name) => [...callers.matchAll(new RegExp(String.raw`\b${name}\b\(`, 'g'))].length < 2 && !callers.includes(`= ${name},`),
    )
    assert.deepEqual(uncalled, [])
  })

  it('makes no row by position', () => {
    for (const text of texts) assert.doesNotMatch(text, /\brow ?\(/)
  })
})

describe('functions of a database', () => {
  const schemas: TestSchema[] = []
  after(() => Promise.all(schemas.map((schema) => schema.drop())))
  const kept = async (schema: Promise<TestSchema>): Promise<TestSchema> => {
    schemas.push(await schema)
    return schema
  }
  const applied = async (): Promise<string> => `functions, edition ${(await readFunctions()).edition}`

  it('are applied once', async () => {
    const { sql } = await kept(freshSchema())
    assert.deepEqual(await migrate(sql, await readMigrations()), [])
    assert.ok(await isMigrated(sql, await readMigrations()))
  })

  it('are put right when somebody has edited or dropped one by hand', async () => {
    const { sql } = await kept(freshSchema())
    const right = await catalogueText(sql)
    for (const deed of [
      'create or replace function category_id(ws uuid, title text) returns uuid language sql as $$ select ws $$',
      'drop function forget_oldest',
      'alter function store set enable_seqscan = on',
    ]) {
      await sql.unsafe(deed)
      assert.notEqual(await catalogueText(sql), right)
      assert.deepEqual(await migrate(sql, await readMigrations()), [await applied()])
      assert.equal(await catalogueText(sql), right)
    }
  })

  it('of a newer edition stay, and this version serves with them', async () => {
    const { sql } = await kept(freshSchema())
    const ours = await readFunctions()
    const newer: Functions = {
      ...ours,
      edition: ours.edition + 1,
      checksum: 'another',
      text: `${ours.text}\ncreate or replace function hash_of_source(key uuid, source text) returns uuid
        language sql immutable strict parallel safe as $$ select md5(source)::uuid $$;`,
    }
    assert.equal((await migrate(sql, await readMigrations(), Promise.resolve(newer))).length, 1)
    const changed = await catalogueText(sql)
    assert.deepEqual(await migrate(sql, await readMigrations()), [])
    assert.equal(await catalogueText(sql), changed)
    assert.ok(await isMigrated(sql, await readMigrations()))
  })

  it('of an older edition are not enough', async () => {
    const { sql } = await kept(freshSchema())
    await sql`update schema_functions set edition = edition - 1`
    assert.ok(!(await isMigrated(sql, await readMigrations())))
    assert.deepEqual(await migrate(sql, await readMigrations()), [await applied()])
    assert.ok(await isMigrated(sql, await readMigrations()))
  })

  it('are applied as a whole or not at all', async () => {
    const { sql } = await kept(freshSchema())
    const former = await catalogueText(sql)
    const ours = await readFunctions()
    const broken = { ...ours, edition: ours.edition + 1, text: `${ours.text}\nselect nothing from nowhere;` }
    await assert.rejects(migrate(sql, await readMigrations(), Promise.resolve(broken)), /nowhere/)
    assert.equal(await catalogueText(sql), former)
    assert.deepEqual(await migrate(sql, await readMigrations()), [])
  })

  it('are applied once by two who migrate at the same time', async () => {
    const { sql } = await kept(emptySchema())
    const migrations = await readMigrations()
    const both = await Promise.all([migrate(sql, migrations), migrate(sql, migrations)])
    assert.deepEqual(both.map((names) => names.length).toSorted(), [0, migrations.length + 1])
  })

  it('are exchanged under whoever stores, and nobody fails', async () => {
    const { sql } = await kept(freshSchema(WORKERS + 1))
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        await whileStoring(sql, history, async () => {
          await sql`update schema_functions set checksum = 'another'`
          assert.deepEqual(await migrate(sql, await readMigrations()), [await applied()])
        })
      }),
      seeded({ numRuns: ROUNDS }),
    )
  })
})

type History = typeof histories extends fc.Arbitrary<infer T> ? T : never

/** Stores a history again and again, by several workers, for as long as something else is done. */
const whileStoring = async (sql: TestSchema['sql'], history: History, doSomething: () => Promise<void>): Promise<void> => {
  const rows = history.map(toRows)
  await sql`
    insert into workspace (id, name) select w, w::text from unnest(${rows.map(({ workspaceId }) => workspaceId)}::uuid[]) as w
    on conflict do nothing`
  let isDone = false
  const work = async (): Promise<void> => {
    do await store(sql, rows)
    while (!isDone)
  }
  const workers = Promise.all(Array.from({ length: WORKERS }, work))
  try {
    await doSomething()
  } finally {
    isDone = true
    await workers
  }
}

describe('a database of before the baseline', () => {
  const former = findVersionBeforeBaseline()
  if (former === undefined) {
    void it.skip('needs the history of this repository', () => {})
    return
  }
  const directory = temporaryDirectory()
  extract(former, directory)
  const schemas: TestSchema[] = []
  after(() => Promise.all(schemas.map((schema) => schema.drop())))
  const theirs = () =>
    import(pathToFileURL(join(directory, 'db/migrate.ts')).href) as Promise<typeof import('../../db/migrate.ts')>
  /** A schema as the version before left it, at its 21st migration unless told otherwise. */
  const formerSchema = async (last = 21): Promise<TestSchema> => {
    const schema = await emptySchema(WORKERS + 1)
    schemas.push(schema)
    const version = await theirs()
    const migrations = await version.readMigrations()
    await version.migrate(
      schema.sql,
      migrations.filter(({ number }) => number <= last),
    )
    return schema
  }

  it('comes to the same catalogue and goes on where it was, at migration 21', async () => {
    const fresh = await freshSchema()
    schemas.push(fresh)
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const { sql } = await formerSchema()
        const noted = await sql`select * from schema_migration order by number`
        const rows = history.map(toRows)
        const half = Math.floor(rows.length / 2)
        await store(sql, rows.slice(0, half))
        await migrate(sql, await readMigrations())
        await store(sql, rows.slice(half))
        assert.equal(await catalogueText(sql), await catalogueText(fresh.sql))
        assert.deepEqual([...(await sql`select * from schema_migration order by number`)], [...noted])
        assert.deepEqual(await dumpTables(sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it('is taken over under whoever stores, and nobody fails', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const { sql } = await formerSchema()
        await whileStoring(sql, history, async () => void (await migrate(sql, await readMigrations())))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it('lets the version before migrate again, which changes nothing, as it does with a new one', async () => {
    const version = await theirs()
    for (const schema of [await formerSchema(), await emptySchema()]) {
      if (!schemas.includes(schema)) schemas.push(schema)
      const { sql } = schema
      await migrate(sql, await readMigrations())
      const ours = await catalogueText(sql)
      assert.deepEqual(await version.migrate(sql, await version.readMigrations()), [])
      assert.ok(await version.isMigrated(sql, await version.readMigrations()))
      assert.equal(await catalogueText(sql), ours)
    }
  })

  it('is refused with the release to pass through, at migration 20', async () => {
    const { sql } = await formerSchema(20)
    const former = await catalogueText(sql)
    await assert.rejects(
      migrate(sql, await readMigrations()),
      (error) => error instanceof MigrationRefused && /at migration 20, .* with release 0\.1 first/.test(error.message),
    )
    assert.equal(await catalogueText(sql), former)
    assert.ok(!(await isMigrated(sql, await readMigrations())))
  })
})
