import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Sql } from '../../db/connection/postgres.ts'
import { findLastingPort } from '../support/lasting-port.ts'
import {
  type Document,
  readManual,
  assertDocumented,
  blockLanguages,
  openTerminal,
  parseAnswer,
  readmeCommands,
  readmeScripts,
  statementsIn,
  type Terminal,
} from '../support/readme-commands.ts'
import {
  cloneOfRepository,
  connectTo,
  NPM_BY_BUN,
  runtime,
  startClone,
  type Started,
} from '../support/started-clone.ts'
import { bareEnvironment, DEAD_PROXY } from '../support/service-process.ts'
import { until } from '../support/until.ts'
import { unwilling } from '../support/unwilling.ts'
import { isHere } from '../support/where.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/**
 * The order in which one shell runs the commands of the documents. Later commands use variables and
 * records of earlier commands.
 */
const IN_TURN = [
  'README.md',
  'docs/integrate.md',
  'docs/queries.md',
  'docs/import.md',
  'docs/tags.md',
  'docs/operate/processes.md',
  'docs/operate/tokens.md',
  'docs/operate/watch.md',
  'docs/operate.md',
  'docs/read.md',
]
const turnOf = ({ path }: Document): number => (IN_TURN.includes(path) ? IN_TURN.indexOf(path) : IN_TURN.length)
const manual = readManual(root).toSorted((one, other) => turnOf(one) - turnOf(other))
const commands = manual.flatMap(({ path, text }) => readmeCommands(text).map((command) => ({ path, ...command })))
const scriptsIn = (language: 'python' | 'ts' | 'sql'): { path: string; script: string }[] =>
  manual.flatMap(({ path, text }) => readmeScripts(text, language).map((script) => ({ path, script })))

const HAS_REQUESTS = spawnSync('python3', ['-c', 'import requests'], { env: bareEnvironment }).status === 0
const NO_REQUESTS = 'there is no Python with requests'

/** Files that a reader has but a clone lacks. */
const OWN_FILES: Readonly<Record<string, string>> = {
  'texts.jsonl': '{"id": "a", "text": "The wheel squeaks"}\n',
  'history.jsonl': '{"text": "The wheel squeaks", "tags": ["squeak"]}\n'.repeat(8),
}

/** Settings for Compose. `npm start` would refuse them if it read them. */
const OF_COMPOSE = `HASH_KEY=no key\nBOOTSTRAP_ACCESS_TOKEN=short\nLOG_LEVEL=verbose\nDATABASE_URL=nowhere\n`

/** The expected output of commands without a documented answer, by the beginning of the command. */
const PRINTED: readonly (readonly [command: string, printed: RegExp])[] = [
  [
    `DATABASE_URL=$(sed -n 's/.*"databaseUrl": "\\(.*\\)".*/\\1/p' .data/service.json) node_modules/.bin/bun`,
    /description.*tags.*rating.*contact.*account[\s\S]*Exporting a report takes too long.*Ada Byron.*Acme/,
  ],
  ['npm run --silent tags', /^\{"id":"a","tags":\["squeak"\]\}$/m],
  ['npm run demo', /Stored, tagged: (\d+)\/\1\n[\s\S]*npm run report/],
  ['npm run --silent report', /^report\.html: [1-9]\d* feedback$/m],
  ['curl -sS "$FEEDBACK_URL/api/v1/feedbacks', /^\{"feedbacks":\[.*\],"next":/m],
  ['npm run source -- list', /^\S+ {2}\d+ feedback[\s\S]*^set$/m],
  ['curl -sS "$FEEDBACK_URL/api/v1/counts', /^\{"total":\{"feedback":[1-9]/m],
  ['npm run source -- set Survey --field', /^set$[\s\S]*^\{"total":\{/m],
  ['npm run export', /^feedback\.csv: [1-9]\d* records$/m],
  ['npm run workspace -- create acme', /^[0-9a-f-]{36} {2}.* {2}default$[\s\S]*^[0-9a-f-]{36} {2}.* {2}acme$/m],
  ['npm run import -- demo/reviews.jsonl', /^(\d+) accepted; 0 refused\.$/m],
  ['npm run doctor', /^well +The database is migrated[\s\S]*^0 wrong, \d+ warnings?, \d+ well\.$/m],
  [
    'npm run token -- create --workspace acme',
    /^fbi_[\w-]{40}$[\s\S]*^fbi_[\w-]{40}$[\s\S]* {2}acme {2}submit {2}expires /m,
  ],
  ['npm run workspace -- delete acme', /^deleted acme, with \d+ rows and \d+ keys in Redis$/m],
  ['npm run migrate', /^The database is up to date\.$/m],
  [
    'curl -sS "$FEEDBACK_URL/readyz"',
    /^\{"ready":true\}[\s\S]*operation="create_feedback",result="accepted"\}[\s\S]*^200$/m,
  ],
]

describe('the README and the documents', () => {
  let clone: string
  let started: Started
  let terminal: Terminal
  let sql: Sql
  /** With a port of its own, since other starts on this machine use the default ports. */
  let settings: Record<string, string>

  before(async () => {
    clone = cloneOfRepository()
    settings = { ...DEAD_PROXY, PORT: String(await findLastingPort()) }
    writeFileSync(join(clone, '.env'), OF_COMPOSE)
    started = await startClone(clone, settings)
    sql = connectTo(started)
    terminal = openTerminal({ cwd: clone, env: bareEnvironment })
    if (!isHere('npm')) await terminal.run(NPM_BY_BUN)
    for (const [name, text] of Object.entries(OWN_FILES)) writeFileSync(join(clone, name), text)
  })
  after(async () => {
    await terminal?.close()
    await sql?.end({ timeout: 5 })
    started?.kill()
    rmSync(clone, { recursive: true, force: true })
  })

  it('start the service, which prints its addresses', () => {
    for (const what of ['API', 'Overview', 'Dashboard', 'PostgreSQL', 'Redis', 'Access token', 'Admin token'])
      started.printed(what)
    assert.match(started.output(), /^curl -i http/m)
  })

  for (const { path, command, answer } of commands) {
    it(`have a command that works, in ${path}: ${firstLineOf(command)}`, async () => {
      const statements = statementsIn(command)
      // Without psql, only the test runs the statements.
      const output = statements.length > 0 && !isHere('psql') ? '' : await terminal.run(command)
      for (const statement of statements) assert.notEqual((await sql.unsafe(statement)).length, 0, statement)
      for (const [begin, printed] of PRINTED) if (command.startsWith(begin)) assert.match(output, printed)
      if (!answer) return
      const given = parseAnswer(output)
      assertDocumented(answer, given)
      const submission = given.headers['submission-id']
      if (submission !== undefined) await untilApplied(sql, submission)
    })
  }

  /**
   * Asserts that a program succeeds at a service that puts off requests, and that all its attempts
   * have the same idempotency key.
   */
  const assertSubmitsPatiently = async (program: string): Promise<void> => {
    const service = await unwilling(new URL(started.printed('API')).origin)
    service.refuse('cut', 503, 429, 'lost')
    try {
      const output = await terminal.run(`FEEDBACK_URL=${service.url} ACCESS_TOKEN="$ACCESS_TOKEN" ${program}`)
      assert.match(output, /'?feedback'?: \{\s*'?id'?: /)
      const [first, ...others] = service.seen
      assert.ok(others.length >= 4)
      for (const { key } of others.slice(0, 4)) assert.equal(key, first?.key)
    } finally {
      service.stop()
    }
  }

  const checkedScript = async (document: string): Promise<string> => {
    const script = scriptsIn('ts').find(({ path }) => path === document)!.script
    writeFileSync(join(clone, 'test', 'script.ts'), script)
    const project = { extends: './tsconfig.json', include: ['test/script.ts'] }
    writeFileSync(join(clone, 'script.tsconfig.json'), JSON.stringify(project))
    await terminal.run('node_modules/.bin/bun node_modules/typescript/bin/tsc --noEmit --project script.tsconfig.json')
    return `${runtime} test/script.ts`
  }

  it('have a script with valid types that repeats requests when it has to', async () => {
    await assertSubmitsPatiently(await checkedScript('docs/integrate.md'))
  })

  it('have a script with valid types that writes feedback into a CSV file', async () => {
    const program = await checkedScript('docs/read.md')
    await terminal.run(`${program} & until [ -s feedback.csv ]; do sleep 0.2; done; kill $!`)
    const [{ known }] = await sql<[{ known: number }]>`
      select count(*)::int as known from feedback where strpos(${readFileSync(join(clone, 'feedback.csv'), 'utf8')}, id::text) > 0`
    assert.ok(known > 0)
  })

  for (const { path, script } of scriptsIn('python')) {
    it(
      `have a script that repeats requests when it has to, in ${path}`,
      { skip: !HAS_REQUESTS && NO_REQUESTS },
      async () => {
        writeFileSync(join(clone, 'submit.py'), script)
        await assertSubmitsPatiently('python3 submit.py')
      },
    )
  }

  // reader.test.ts runs the queries of docs/queries.md, as the role of readers.
  for (const { path, script } of scriptsIn('sql').filter((found) => found.path !== 'docs/queries.md')) {
    it(`have a query that finds rows, in ${path}`, async () => {
      assert.notEqual((await sql.unsafe(script)).length, 0)
    })
  }

  it('have scripts and commands in the expected documents', () => {
    assert.deepEqual(new Set(commands.map(({ path }) => path)), new Set(IN_TURN))
    assert.equal(scriptsIn('python').length, 1)
    const inTypeScript = scriptsIn('ts').map(({ path }) => path)
    assert.deepEqual(inTypeScript.toSorted(), ['docs/integrate.md', 'docs/read.md'])
  })

  it('have a checked output for every command that prints', () => {
    const unchecked = commands.filter(
      ({ command, answer }) =>
        !answer && statementsIn(command).length === 0 && !PRINTED.some(([begin]) => command.startsWith(begin)),
    )
    for (const { command } of unchecked) assert.match(command, /^(?:\. \.data|DATABASE_URL=|export READ_TOKEN=)/)
  })

  it('have only blocks of known languages', () => {
    // No test runs a block of `console`. JSON configures other programs, and Mermaid is a diagram.
    const known = ['sh', 'http', 'console', 'python', 'ts', 'sql', 'json', 'mermaid']
    assert.deepEqual(
      manual.flatMap(({ text }) => blockLanguages(text)).filter((language) => !known.includes(language)),
      [],
    )
  })

  it('have led to stored, tagged feedback', async () => {
    const tags = await until('the first feedback has tags', async () => {
      const [row] = await sql<{ tags: string[] | null }[]>`
        select tags from feedback where source = 'tickets' and source_id = 'T-1'`
      return row?.tags ?? undefined
    })
    assert.deepEqual(tags, ['report export'])
  })

  it('have purged the named contact', async () => {
    const rows = await sql<{ external_id: string }[]>`
      select external_id from contact_external_id where source = 'crm' order by external_id`
    assert.deepEqual(
      rows.map((row) => row.external_id),
      ['user-42'],
    )
  })

  it('start a service that stops at Ctrl-C, and has its data and tokens at the next start', async () => {
    await sql.end({ timeout: 5 })
    const first = started
    assert.equal(await first.interrupt(), 0, first.output())
    started = await startClone(clone, settings)
    sql = connectTo(started)
    const [row] = await sql<{ description: string }[]>`
      select description from feedback where source = 'tickets' and source_id = 'T-1'`
    assert.equal(row?.description, 'Exporting a report takes too long')
    for (const token of ['Access token', 'Admin token']) assert.equal(started.printed(token), first.printed(token))
    assert.equal(await started.interrupt(), 0, started.output())
  })
})

const untilApplied = async (sql: Sql, submission: string): Promise<void> => {
  const state = await until(`submission ${submission} is settled`, async () => {
    const [row] = await sql<
      { state: string }[]
    >`select state from submission where id = ${submission} and state <> 'queued'`
    return row?.state
  })
  assert.equal(state, 'applied')
}

const firstLineOf = (command: string): string => command.split('\n', 1)[0]!.replace(/ \\$/, '')
