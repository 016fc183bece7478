import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type CommandResult, resultOf, runCommand } from '../support/command.ts'
import { SERVICE_COMMAND } from '../support/service-process.ts'
import { testServers } from '../support/servers.ts'
import { idleService, type SharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const IMPORT = 'cli/import/import-command.ts'
/** A device that refuses every write like a full disk. */
const FULL = '/dev/full'

describe('a command that cannot do its work says why in one line, and ends with a code other than 0:', () => {
  const folder = temporaryDirectory()
  let service: SharedService
  let occupied: Server
  let taken: string
  before(async () => {
    service = await idleService()
    occupied = createServer().listen(0, '127.0.0.1')
    await once(occupied, 'listening')
    taken = String((occupied.address() as AddressInfo).port)
  })
  after(async () => {
    occupied?.close()
    await service?.stop()
  })

  const fails = async (
    says: RegExp,
    {
      environment = {},
      program,
      words = [],
    }: { environment?: Record<string, string>; program: string; words?: string[] },
  ): Promise<void> => {
    const { code, stderr } = await runCommand(
      { environment: { ...service.environment, ...environment } },
      program,
      ...words,
    )
    assert.match(stderr.trimEnd(), says)
    assert.equal(code, 1)
  }
  const fileOf = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  const reaching = (token: string): string[] => ['--url', service.urls[0]!, '--token', token]

  it('the API at a taken port', () =>
    fails(/^Port \d+ on 127\.0\.0\.1 is taken\. Set PORT to a free one\.$/, {
      environment: { PORT: taken },
      program: 'api/main.ts',
    }))

  it('the API at an address of another machine', () =>
    fails(/^This process cannot listen at port 0 on 192\.0\.2\.1 \(\w+ \w+\)\. Check HOST and PORT\.$/, {
      environment: { HOST: '192.0.2.1', PORT: '0' },
      program: 'api/main.ts',
    }))

  it('a worker at an address of another machine', () =>
    fails(/\(\w+ \w+\)\. Check WORKER_HOST and WORKER_PORT\.$/, {
      environment: { WORKER_HOST: '192.0.2.1', WORKER_PORT: '0' },
      program: 'worker/main.ts',
    }))

  it('a worker at a taken port', () =>
    fails(/^Port \d+ on 127\.0\.0\.1 is taken\. Set WORKER_PORT to a free one\.$/, {
      environment: { WORKER_PORT: taken },
      program: 'worker/main.ts',
    }))

  const unfit: readonly [string, Record<string, string>, RegExp][] = [
    ['with a database that is not migrated', { DATABASE_SCHEMA: 'never_migrated' }, /has not been migrated/],
    ['with another HASH_KEY', { HASH_KEY: 'f'.repeat(64) }, /HASH_KEY is not the one/],
    ['with a malformed setting', { DATABASE_CONNECTIONS: 'many' }, /DATABASE_CONNECTIONS/],
  ]
  for (const program of ['api/main.ts', 'worker/main.ts'])
    for (const [title, environment, says] of unfit) {
      it(`${program} ${title}`, () => fails(says, { environment, program }))
    }

  for (const queues of ['feedback', 'wake,contacts', 'all'])
    it(`a worker of the queues ${queues}`, () =>
      fails(/WORKER_QUEUES .*some of wake, backlog, removal, tagging, webhook, separated by commas/, {
        environment: { WORKER_QUEUES: queues },
        program: 'worker/main.ts',
      }))

  it('npm start at a taken port', () =>
    fails(/^PORT \d+ is taken on 127\.0\.0\.1: stop the program that listens there, or set another port$/, {
      environment: { PORT: taken, DATA_DIR: join(folder, 'data') },
      program: 'cli/start/start.ts',
    }))

  const started: readonly [string, () => Record<string, string>, RegExp][] = [
    [
      'where its data directory is a file',
      () => ({ DATA_DIR: fileOf('taken', '') }),
      /taken cannot be used \(\w+\): set DATA_DIR to a directory that this user can write$/,
    ],
    [
      'with a token that no request could use',
      () => ({ DATA_DIR: join(folder, 'data'), BOOTSTRAP_ACCESS_TOKEN: 'fbi_from_env_0123456789ab' }),
      /^BOOTSTRAP_ACCESS_TOKEN is not valid: expected 16 to 200 visible ASCII characters; if it begins with fbi_, a whole token/,
    ],
  ]
  for (const [title, environment, says] of started) {
    it(`npm start ${title}`, () => fails(says, { environment: environment(), program: 'cli/start/start.ts' }))
  }

  const asked: readonly [string, RegExp, string, Record<string, string>?][] = [
    [
      'whose database is at no host',
      /^Postgres cannot be reached: the name of its host is not known here \(\w+ (?:ENOTFOUND|EAI_AGAIN)\)\. /,
      'cli/migrate-command.ts',
      { DATABASE_URL: 'postgres://u:p@nowhere.invalid/d' },
    ],
    [
      'whose database speaks no TLS',
      /^Postgres cannot be reached: it ended the connection \(Error ECONNRESET\)\. .*speaks TLS at this port\.$/,
      'cli/migrate-command.ts',
      { DATABASE_URL: `${testServers().databaseUrl}?sslmode=verify-full` },
    ],
    [
      'before the migration',
      /^The database is not migrated \(PostgresError 42P01\)\. Run: npm run migrate$/,
      'cli/token-command.ts list',
      { DATABASE_SCHEMA: 'never_migrated' },
    ],
    [
      'that drops a reader that does not exist',
      /^There is no role unmade\. Check the name\.$/,
      'cli/reader-command.ts drop unmade',
    ],
    [
      'that replays purges from a file that does not exist',
      /nowhere\.ndjson cannot be read/,
      'cli/purge/replay-command.ts nowhere.ndjson',
    ],
    [
      'whose Redis is away',
      /^Redis cannot be reached: nothing listens at its address \(Error ECONNREFUSED\)\. .*REDIS_URL\.$/,
      'cli/purge/verify-command.ts --id x',
      { REDIS_URL: 'redis://127.0.0.1:1' },
    ],
    [
      'whose Redis has another password',
      /^Redis refuses: user or password are wrong \(ReplyError WRONGPASS\)\. /,
      'cli/purge/verify-command.ts --id x',
      { REDIS_URL: testServers().redisUrl.replace(/:[^:@/]*@/, ':wrong@') },
    ],
  ]
  for (const [title, says, command, environment = {}] of asked) {
    const [program = '', ...words] = command.split(' ')
    it(`a command ${title}`, () => fails(says, { environment, program, words }))
  }

  it('the migration of a database of a newer version', async () => {
    await service.all`insert into schema_migration (number, name, checksum) values (9999, 'later', 'x')`
    try {
      await fails(/^The database is at migration 9999, this version knows \d+\. Start a newer version\.$/, {
        program: 'cli/migrate-command.ts',
      })
    } finally {
      await service.all`delete from schema_migration where number = 9999`
    }
  })

  describe('on a full disk', { skip: !existsSync(FULL) && 'there is no /dev/full here' }, () => {
    it('the tagger, which cannot write its tags', () =>
      fails(/ENOSPC/, {
        program: 'tagger/tags-command.ts',
        words: ['--in', fileOf('texts.ndjson', '{"id":1,"text":"Exports are slow"}\n'), '--out', FULL],
      }))

    it('a command whose output goes to a file', async () => {
      const { code, stderr } = await ends(`exec "$@" >${FULL}`, 'cli/migrate-command.ts')
      assert.match(stderr, /^The output cannot be written \(Error ENOSPC\)\. Free some space/m)
      assert.equal(code, 1)
    })
  })

  it('the import, which cannot keep its journal', async () => {
    // No file may grow, which looks like a full disk to a program. A journal on the device above
    // could be read without end.
    const words = [fileOf('two.csv', 'description\nGood\n'), '--state', join(folder, 'journal')]
    const { code, stderr } = await ends(
      `trap '' XFSZ; ulimit -f 0; exec "$@"`,
      IMPORT,
      ...words,
      ...reaching(service.accessToken),
    )
    assert.match(stderr, /^The import failed: .*file too large/im)
    assert.equal(code, 1)
  })

  /** Runs a program as `$@` of a shell. */
  const ends = (script: string, program: string, ...words: string[]): Promise<CommandResult> => {
    const child = spawn('sh', ['-c', script, 'sh', ...SERVICE_COMMAND, program, ...words], {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      env: { ...process.env, ...service.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    return resultOf(child)
  }
})
