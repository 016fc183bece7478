import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type CommandResult, resultOf, runCommand } from '../support/command.ts'
import { serveHttp } from '../support/http-server.ts'
import { SERVICE_COMMAND } from '../support/service-process.ts'
import { testServers } from '../support/servers.ts'
import { freshSchema } from '../support/schema.ts'
import { idleService, type SharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

/** Only root can mount, and not in every container. */
const CANNOT_MOUNT =
  process.getuid?.() === 0 && process.platform === 'linux' ? false : 'only root can mount a small disk'

type Environment = Readonly<Record<string, string>>

const START = 'cli/start/start.ts'
const MIGRATE = 'cli/migrate-command.ts'
/** A device that refuses every write like a full disk. */
const FULL = '/dev/full'

describe('a command that cannot do its work says why in one line, and ends with a code other than 0:', () => {
  const folder = temporaryDirectory()
  let service: SharedService
  let occupied: Awaited<ReturnType<typeof serveHttp>>
  let taken: string
  before(async () => {
    service = await idleService()
    occupied = await serveHttp(() => {})
    taken = new URL(occupied.url).port
  })
  after(async () => {
    occupied?.stop()
    await service?.stop()
  })

  /** Asserts that a command, such as `cli/token-command.ts list`, fails with one line. */
  const assertFails = async (command: string, says: RegExp, environment: Environment = {}): Promise<void> => {
    const [program = '', ...words] = command.split(' ')
    const all = { environment: { ...service.environment, ...environment } }
    const { code, stderr } = await runCommand(all, program, ...words)
    assert.match(stderr.trimEnd(), says)
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr)
    assert.equal(code, 1)
  }
  const fileOf = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }

  // The API and the worker begin with the same steps, and each has a list of reasons not to start.
  for (const [program, title, environment, says] of [
    [
      'api/main.ts',
      'with a database that is not migrated',
      { DATABASE_SCHEMA: 'never_migrated' },
      /has not been migrated/,
    ],
    ['api/main.ts', 'with another HASH_KEY', { HASH_KEY: 'f'.repeat(64) }, /HASH_KEY is not the one/],
    ['worker/main.ts', 'with another HASH_KEY', { HASH_KEY: 'f'.repeat(64) }, /HASH_KEY is not the one/],
    ['api/main.ts', 'with a malformed setting', { DATABASE_CONNECTIONS: 'many' }, /DATABASE_CONNECTIONS/],
    [
      'worker/main.ts',
      'of an unknown queue',
      { WORKER_QUEUES: 'wake,contacts' },
      /WORKER_QUEUES .*some of wake, backlog, removal, tagging, webhook, separated by commas/,
    ],
  ] as [string, string, Environment, RegExp][])
    it(`${program} ${title}`, () => assertFails(program, says, environment))

  const commands: readonly [title: string, command: string, says: RegExp, environment?: () => Environment][] = [
    [
      'the API at a taken port',
      'api/main.ts',
      /^Port \d+ on 127\.0\.0\.1 is taken\. Set PORT to a free one\.$/,
      () => ({ PORT: taken }),
    ],
    [
      'a worker at an address of another machine',
      'worker/main.ts',
      /^This process cannot listen at port 0 on 192\.0\.2\.1 \(\w+ \w+\)\. Check WORKER_HOST and WORKER_PORT\.$/,
      () => ({ WORKER_HOST: '192.0.2.1', WORKER_PORT: '0' }),
    ],
    [
      'npm start at a taken port',
      START,
      /^PORT \d+ is taken on 127\.0\.0\.1: stop the program that listens there, or set another port$/,
      () => ({ PORT: taken, DATA_DIR: join(folder, 'data') }),
    ],
    [
      'npm start with a worker at an address of another machine',
      START,
      /Check WORKER_HOST and WORKER_PORT\.$/,
      () => ({ WORKER_HOST: '192.0.2.1', WORKER_PORT: '39911', DATA_DIR: join(folder, 'data') }),
    ],
    [
      'npm start where its data directory is a file',
      START,
      /taken cannot be used \(\w+\): set DATA_DIR to a directory that this user can write$/,
      () => ({ DATA_DIR: fileOf('taken', '') }),
    ],
    [
      'npm start with a token that no request could use',
      START,
      /^BOOTSTRAP_ACCESS_TOKEN is not valid: expected 16 to 200 visible ASCII characters; if it begins with fbi_, a whole token/,
      () => ({ DATA_DIR: join(folder, 'data'), BOOTSTRAP_ACCESS_TOKEN: 'fbi_from_env_0123456789ab' }),
    ],
    [
      'a command whose database is at no host',
      MIGRATE,
      /^Postgres cannot be reached: the name of its host is not known here \(\w+ (?:ENOTFOUND|EAI_AGAIN)\)\. /,
      () => ({ DATABASE_URL: 'postgres://u:p@nowhere.invalid/d' }),
    ],
    [
      'a command whose database speaks no TLS',
      MIGRATE,
      /^Postgres cannot be reached: it ended the connection \(Error ECONNRESET\)\. .*speaks TLS at this port\.$/,
      () => ({ DATABASE_URL: `${testServers().databaseUrl}?sslmode=verify-full` }),
    ],
    [
      'a command before the migration',
      'cli/token-command.ts list',
      /^The database is not migrated \(PostgresError 42P01\)\. Run: npm run migrate$/,
      () => ({ DATABASE_SCHEMA: 'never_migrated' }),
    ],
    [
      'a command that drops a reader that does not exist',
      'cli/reader-command.ts drop unmade',
      /^There is no role unmade\. Check the name\.$/,
    ],
    [
      'a webhook from a position that lies far ahead, after which it would wait for years',
      'cli/webhook-command.ts create --workspace default --url https://example.com --from 9999999999999999',
      /^--from must be a position of the change feed/,
    ],
    [
      'a command that replays purges from a folder',
      'cli/purge/replay-command.ts docs',
      /docs cannot be read \(\w+ EISDIR\)\. Name a file/,
    ],
    [
      'a command that replays purges from another file',
      'cli/purge/replay-command.ts package.json',
      /^Line 1 of .*package\.json is not a line of purge:export\. Remove the lines that npm has printed/,
    ],
    [
      'a command whose Redis is away',
      'cli/purge/verify-command.ts --id x',
      /^Redis cannot be reached: nothing listens at its address \(Error ECONNREFUSED\)\. .*REDIS_URL\.$/,
      () => ({ REDIS_URL: 'redis://127.0.0.1:1' }),
    ],
    [
      'a command whose Redis has another password',
      'cli/purge/verify-command.ts --id x',
      /^Redis refuses: user or password is wrong \(ReplyError WRONGPASS\)\. /,
      () => ({ REDIS_URL: testServers().redisUrl.replace(/:[^:@/]*@/, ':wrong@') }),
    ],
  ]
  for (const [title, command, says, environment] of commands)
    it(title, () => assertFails(command, says, environment?.()))

  it('a command that needs HASH_KEY, before the first start has bound the database to a key', async () => {
    const schema = await freshSchema()
    const command = 'cli/webhook-command.ts create --workspace default --url https://example.com'
    try {
      await assertFails(command, /^The database has no HASH_KEY yet\. Start /, { DATABASE_SCHEMA: schema.name })
    } finally {
      await schema.drop()
    }
  })

  it('npm start whose disk is too small for the database', { skip: CANNOT_MOUNT }, async () => {
    const disk = join(folder, 'small disk')
    mkdirSync(disk)
    assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=0711', 'tmpfs', disk]).status, 0)
    try {
      const environment = { DATA_DIR: disk, DATABASE_URL: '', REDIS_URL: testServers().redisUrl }
      const { code, stderr } = await runCommand({ environment: { ...service.environment, ...environment } }, START)
      const lines = stderr.trimEnd().split('\n')
      assert.deepEqual(lines.slice(0, -1), ['Making the PostgreSQL database …'])
      assert.match(
        lines.at(-1)!,
        /^The disk of DATA_DIR is full\. Free some space, or set DATA_DIR to a directory on another/,
      )
      assert.equal(code, 1)
    } finally {
      spawnSync('umount', [disk])
    }
  })

  describe('on a full disk', { skip: !existsSync(FULL) && 'there is no /dev/full here' }, () => {
    it('the tagger, which cannot write its tags', () => {
      const texts = fileOf('texts.ndjson', '{"id":1,"text":"Exports are slow"}\n')
      return assertFails(`tagger/tags-command.ts --in ${texts} --out ${FULL}`, /ENOSPC/)
    })

    it('a command whose output goes to a file', async () => {
      const { code, stderr } = await runInShell(`exec "$@" >${FULL}`, MIGRATE)
      assert.match(stderr, /^The output cannot be written \(Error ENOSPC\)\. Free some space/m)
      assert.equal(code, 1)
    })
  })

  it('a command that outlives the reader of its output', async () => {
    const { stderr } = await runInShell('"$@" | true', MIGRATE)
    assert.match(stderr, /^The program that reads the output has ended/m)
  })

  it('the import, which cannot keep its journal', async () => {
    // `ulimit -f 0` lets no file grow, like a full disk. /dev/full cannot be the journal, since a read
    // of it never ends.
    const words = [fileOf('two.csv', 'description\nGood\n'), '--state', join(folder, 'journal')]
    const reaching = ['--url', service.urls[0]!, '--token', service.accessToken]
    const limited = `trap '' XFSZ; ulimit -f 0; exec "$@"`
    const { code, stderr } = await runInShell(limited, 'cli/import/import-command.ts', ...words, ...reaching)
    assert.match(stderr, /^The import failed: .*file too large/im)
    assert.equal(code, 1)
  })

  /** Runs a shell script. In it, `$@` is the program and its words. */
  const runInShell = (script: string, program: string, ...words: string[]): Promise<CommandResult> => {
    const child = spawn('sh', ['-c', script, 'sh', ...SERVICE_COMMAND, program, ...words], {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      env: { ...process.env, ...service.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    return resultOf(child)
  }
})
