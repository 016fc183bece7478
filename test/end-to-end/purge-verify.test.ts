import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { runCommand } from '../support/command.ts'
import { inject } from '../support/inject.ts'
import { seeded } from '../support/property-seed.ts'
import { type Service, startService } from '../support/service.ts'
import { findTraces } from '../support/traces.ts'

const RUNS = process.env['TEST_SIZE'] === 'long' ? 40 : 15
const SLOW_MICROSECONDS = 100_000
const FIRST_STEPS = 10_000_000
const SLOW_SCRIPT = 'local sum = 0 for i = 1, ARGV[2] do sum = sum + i end return ARGV[1]'

describe('npm run purge:verify', () => {
  // In a shared schema, Postgres could gather statistics that contain a text of this test.
  let service: Service
  before(async () => {
    service = await startService({ apis: 0, workers: 0 })
  })
  after(() => service?.stop())

  const verify = (...words: string[]) => runCommand(service, 'cli/purge/verify-command.ts', ...words)
  /** A new text each time, with upper case and characters that need escapes. */
  const newString = (): string => `Läuft-${randomUUID()}-"A\\B"\n\tÜ`
  const key = (rest: string): string => `{${service.redisPrefix}:${rest}`
  /** Each place where the search of the command finds the text, with the number of its rows or keys. */
  const placesOf = async (text: string): Promise<string[]> =>
    (await findTraces(service, [text])).map(({ place, count }) => `${place}: ${count}`).toSorted()

  it('finds text in bytes', async () => {
    const text = `plain-${randomUUID()}`
    await service.sql`
      insert into token (id, hash, scopes) values (${randomUUID()}, ${Buffer.from(`x${text}`)}, '{operator}')`
    assert.deepEqual(await placesOf(text), ['token.hash: 1'])
  })

  it('finds text that only the planner statistics contain', async () => {
    const text = newString()
    const inJson = newString()
    // No table of the service has statistics of columns with personal data, so the test makes a table.
    await service.sql`create table observed (source text, given jsonb)`
    await service.sql`
      insert into observed select ${text}, ${service.sql.json({ given: inJson })} from generate_series(1, 20)`
    await service.sql`analyze observed`
    assert.deepEqual(await placesOf(text), ['observed.source: 20', 'pg_stats.most_common_vals: 1'])
    await service.sql`delete from observed`
    assert.deepEqual(await placesOf(text), ['pg_stats.most_common_vals: 1'])
    assert.deepEqual(await placesOf(inJson), ['pg_stats.most_common_vals: 1'])
    await service.sql`drop table observed`
    assert.deepEqual(await placesOf(text), [])
    assert.deepEqual(await placesOf(inJson), [])
  })

  it('finds text in the statement of a connection', async () => {
    const text = `said-${randomUUID()}`
    const connection = await service.sql.reserve()
    try {
      await connection.unsafe(`select '${text}'`)
      assert.deepEqual(await placesOf(text), ['pg_stat_activity.query: 1'])
    } finally {
      await connection`select 1`
      connection.release()
    }
  })

  /** Large values, since the search reads a value in several steps. */
  const inRedis: Readonly<Record<string, (name: string, text: string) => Promise<unknown>>> = {
    'a string': (name, text) => service.redis.set(name, `x${text}`),
    'a field of a hash': (name, text) => service.redis.hset(name, text, 'x'),
    'a value of a hash': (name, text) => service.redis.hset(name, 'data', JSON.stringify({ body: { [text]: text } })),
    'a list': (name, text) => service.redis.rpush(name, ...Array.from({ length: 250 }, String), text),
    'a set': (name, text) => service.redis.sadd(name, ...Array.from({ length: 999 }, String), text),
    'a sorted set': (name, text) => service.redis.zadd(name, 1, 'x', 2, text),
    'a stream': async (name, text) => {
      for (let entry = 0; entry < 250; entry += 1) await service.redis.xadd(name, '*', 'event', String(entry))
      await service.redis.xadd(name, '*', 'event', 'failed', 'failedReason', text)
    },
  }
  for (const [what, plant] of Object.entries(inRedis)) {
    it(`finds text in ${what} of Redis`, async () => {
      const text = newString()
      await plant(key(`wake}:${randomUUID()}:x`), text)
      assert.deepEqual(await placesOf(text), [`${key('wake}:*:x')}: 1`])
    })
  }

  it('finds text in the name of a key, and does not print it', async () => {
    const text = `Key:${randomUUID()}`
    await service.redis.set(key(`wake}:${text}:x`), 'x')
    assert.deepEqual(await placesOf(text), [`name of ${key('wake}:Key:*:x')}: 1`])
    const plain = 'plainlynamed'
    await service.redis.set(key(`wake}:${plain}`), 'x')
    assert.deepEqual(await placesOf(plain), [`name of ${key('wake}:*')}: 1`])
  })

  it('finds text in the slow log', async () => {
    const text = `slow-${randomUUID()}`
    const [name = '', formerly = ''] = await service.redis.config('GET', 'slowlog-log-slower-than')
    await service.redis.config('SET', name, SLOW_MICROSECONDS)
    let places: string[] = []
    try {
      // The slow log belongs to the server. Other tests may push this entry out.
      for (let steps = FIRST_STEPS; places.length === 0; steps *= 2) {
        await service.redis.eval(SLOW_SCRIPT, 0, text, steps)
        places = await placesOf(text)
      }
    } finally {
      await service.redis.config('SET', name, formerly)
      // Tests of other runs search this log as well.
      await service.redis.slowlog('RESET')
    }
    assert.deepEqual(places, ['slow log: 1'])
  })

  it('finds any text in any form', async () => {
    const id = randomUUID()
    const texts = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
      .filter((text) => !text.includes('\0') && text.isWellFormed())
    await fc.assert(
      fc.asyncProperty(texts, texts, async (start, end) => {
        const text = `${start}${randomUUID()}${end}`
        await service.sql`delete from feedback where id = ${id}`
        await service.sql`
          insert into feedback (workspace_id, id, description, tags, source_data, tags_generated, source, number, first_number,
            change_position)
          values (${service.workspaceId}, ${id}, ${`x${text}x`}, ${[text]}, ${service.sql.json({ [text]: { in: [text] } })}, false, 'x', 1, 1, 1)`
        await service.redis.hset(key(`wake}:${id}`), 'data', JSON.stringify({ json: JSON.stringify([text]) }))
        assert.deepEqual(await placesOf(text), [
          'feedback.description: 1',
          'feedback.source_data: 1',
          'feedback.tags: 1',
          `${key('wake}:*')}: 1`,
        ])
      }),
      seeded({ numRuns: RUNS, examples: [['Läuft-', '-"A\\B"\n\tÜ']] }),
    )
  })

  it('finds neither an absent string nor a string under another prefix, and stores no string itself', async () => {
    const text = newString()
    const elsewhere = `{${service.redisPrefix}x:wake}:${randomUUID()}`
    await service.redis.set(elsewhere, text, 'EX', 60)
    const { code, stdout, stderr } = await verify('--text', text, '--id', randomUUID())
    await service.redis.del(elsewhere)
    assert.equal(code, 0, stderr)
    assert.match(
      stdout,
      /^id 1: found nowhere\ntext 1: found nowhere\nsearched: [1-9]\d* tables, and [1-9]\d* keys under /,
    )
    assert.deepEqual(await findTraces(service, [text]), [])
  })

  it('prints the places of each string, but no string, and ends with 1', async () => {
    const [email, id] = [`Verify-${randomUUID()}@example.com`, randomUUID()]
    await service.sql`
      insert into contact_external_id (workspace_id, key_id, source, external_id, contact_id, number)
      values (${service.workspaceId}, ${randomUUID()}, 'crm', ${id}, ${randomUUID()}, 1)`
    const body = { id, source: 'crm', properties: { $email: email } }
    await inject(service, service.queues, { operation: 'identify_contact', body })
    const { code, stdout, stderr } = await verify(
      '--email',
      ` ${email.toLowerCase()} `,
      '--id',
      id,
      '--text',
      randomUUID(),
    )
    assert.equal(code, 1)
    assert.equal(stderr, 'At least one string was found, in the places above.\n')
    assert.deepEqual(stdout.split('\n').slice(0, -2), [
      'id 1:',
      '  contact_external_id.external_id: 1 row',
      `  Redis ${key('*}:*:log')}: 1`,
      'email 1:',
      `  Redis ${key('*}:*:log')}: 1`,
      'text 1: found nowhere',
    ])
    assert.ok(!stdout.toLowerCase().includes(email.toLowerCase()) && !stdout.includes(id))
  })

  it('refuses a schema without tables, in which it would find nothing', async () => {
    const elsewhere = { environment: { ...service.environment, DATABASE_SCHEMA: 'without_tables' } }
    for (const words of [
      ['--text', 'x'],
      ['--workspace', randomUUID()],
    ]) {
      const { code, stdout, stderr } = await runCommand(elsewhere, 'cli/purge/verify-command.ts', ...words)
      assert.deepEqual([code, stdout], [1, ''], words.join(' '))
      assert.match(stderr, /^The database has no tables in this schema\./)
    }
  })

  it('refuses unknown options and values', async () => {
    for (const words of [[], ['--text', ' '], ['--nothing']]) {
      const { code, stdout, stderr } = await verify(...words)
      assert.deepEqual([code, stdout], [1, ''], words.join(' '))
      assert.match(stderr, /usage: |needs a character/)
    }
  })
})
