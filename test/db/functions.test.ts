import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { checksumOf, type Functions, readFunctions } from '../../db/functions.ts'
import { isMigrated, migrate, readMigrations } from '../../db/migrate.ts'
import { readSourceFiles } from '../check/source-files.ts'
import { catalogueText } from '../support/catalogue.ts'
import { histories } from '../support/deliveries.ts'
import { seeded } from '../support/property-seed.ts'
import { emptySchema, freshSchema, type TestSchema } from '../support/schema.ts'
import { whileStoring } from '../support/while-storing.ts'

const CONNECTIONS = 5
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
    const read = await readFunctions()
    assert.equal(read.checksum, checksumOf(read))
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
      (name) =>
        [...callers.matchAll(new RegExp(String.raw`\b${name}\b\(`, 'g'))].length < 2 && !callers.includes(`= ${name},`),
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
    assert.deepEqual(both.flat().toSorted(), [...migrations.map(({ name }) => name), await applied()].toSorted())
  })

  it('are exchanged under whoever stores, and nobody fails', async () => {
    const { sql } = await kept(freshSchema(CONNECTIONS))
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
