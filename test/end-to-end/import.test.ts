import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { type ServiceProcess, spawnProgram, startProcess } from '../support/service-process.ts'
import { type Service, startService } from '../support/service.ts'
import { idleService, type SharedService, sharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'

const PROGRAM = 'cli/import/import-command.ts'
const MICROSECONDS_PER_SECOND = 1_000_000
const LIMIT = 10
const SLOW_MS = 60_000
/** More than are sent before a kill arrives. */
const ROWS = 3_000
/** Fewer than fill the backlog of this test. */
const SOME = 20

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

describe('the import of a file', () => {
  const folder = temporaryDirectory()
  let service: SharedService
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  const fileOf = (name: string, content: string): string => {
    const path = join(folder, name)
    writeFileSync(path, content)
    return path
  }
  const run = (path: string, ...options: readonly string[]) => runAt(service, path, ...options)
  const runAt = (at: SharedService, path: string, ...options: readonly string[]) =>
    runCommand(at, PROGRAM, path, '--url', at.urls[0]!, '--token', at.accessToken, ...options)
  const count = async (source: string): Promise<number> => {
    const [row] = await service.sql<{ n: number }[]>`select count(*)::int as n from feedback where source = ${source}`
    return row!.n
  }

  it('submits every row of a CSV file that can be, and lists the others with their lines', async () => {
    const good = Array.from({ length: 300 }, (_, at) => {
      const text = at % 3 === 0 ? `It said "no",\nthen it hung (${at})` : `Plain, ${at}`
      return `${quoted(text)},${at % 5},person-${at % 20}@b.example,T-${at}\r\n`
    })
    const bad = ['No rating,much,a@b.example,B-1\r\n', 'too,1,many,columns,here\r\n', ',,a@b.example,B-2\r\n']
    const path = fileOf('feedback.csv', `\ufeffText,Stars,Email,Ticket\r\n${[...good, ...bad].join('')}`)
    const map = ['Text=description', 'Stars=rating', 'Email=contact.email', 'Ticket=sourceId']
    const { code, stdout, stderr } = await run(
      path,
      ...map.flatMap((one) => ['--map', one]),
      '--set',
      'source=survey',
      '--set',
      'tags=imported',
    )
    assert.equal(code, 1, stdout + stderr)
    assert.match(stdout, /Stars +→ {2}rating/)
    assert.match(stdout, /^300 accepted; 3 refused\.$/m)
    const first = 2 + 300 + 100
    const listed = [`${first}: rating must be a number`, `${first + 1}: the row has 5 columns, the header 4`]
    for (const line of [...listed, `${first + 2}: description is required`])
      assert.ok(stdout.includes(`line ${line}`), line)
    await until('all are stored', async () => (await count('survey')) === 300)
    const [row] = await service.sql<{ description: string; rating: number; tags: string[]; email: string }[]>`
      select f.description, f.rating::float8 as rating, f.tags, c.email
      from feedback f join contact c on c.workspace_id = f.workspace_id and c.id = f.contact_id
      where f.source_id = 'T-3'`
    const description = 'It said "no",\nthen it hung (3)'
    assert.deepEqual({ ...row }, { description, rating: 3, tags: ['imported'], email: 'person-3@b.example' })

    const again = await run(
      path,
      ...map.flatMap((one) => ['--map', one]),
      '--set',
      'source=survey',
      '--set',
      'tags=imported',
    )
    assert.match(again.stdout, /^300 accepted, 300 of them before; 3 refused\.$/m)
    const otherwise = await run(path, ...map.flatMap((one) => ['--map', one]), '--set', 'source=other')
    assert.equal(otherwise.code, 1)
    assert.match(otherwise.stderr, /the mapping changed/)
    assert.ok(!readFileSync(`${path}.import`, 'utf8').includes('example'), 'the journal has content of the file')
  })

  it('shows in a dry run what would be refused, and sends nothing', async () => {
    const tags = Array.from({ length: 101 }, (_, at) => `t${at}`).join()
    const path = fileOf('dry.csv', `description,rating,source,tags\nGood,1,dry,\nBad,x,dry,\nMuch,1,dry,"${tags}"\n`)
    const { code, stdout } = await run(path, '--dry-run')
    assert.equal(code, 1)
    assert.match(
      stdout,
      /2 would be refused:\n {2}line 3: rating must be a number\n {2}line 4: tags must be an array of at most 100 tags/,
    )
    assert.ok(!existsSync(`${path}.import`))
    assert.equal(await count('dry'), 0)
  })

  it('takes contacts, accounts and conversations, the later of one id last', async () => {
    const accounts = fileOf('accounts.csv', 'id,name,domain\nacme,Acme,acme.example\n')
    const contacts = fileOf(
      'contacts.ndjson',
      Array.from({ length: 40 }, (_, at) => `{"id":"u1","source":"crm","properties":{"$name":"Name ${at}"}}\n`).join(
        '',
      ),
    )
    const messages = fileOf(
      'messages.csv',
      'conversation_id,conversation_created_at,message_id,message_body,message_created_at,message_author_type,message_author_id\n' +
        'c1,2024-01-01 10:00:00,m1,Hello,2024-01-01 10:00:00,user,u1\n' +
        'c1,2024-01-01 10:00:00,m2,"Hi, there",2024-01-01 10:01:00,admin,a1\n',
    )
    for (const [path, kind] of [
      [accounts, 'accounts'],
      [contacts, 'contacts'],
      [messages, 'conversations'],
    ] as const) {
      const { code, stdout, stderr } = await run(path, '--kind', kind)
      assert.equal(code, 0, stdout + stderr)
    }
    await until('they are stored', async () => {
      const [row] = await service.sql<{ name: string | null; messages: number; accounts: number }[]>`
        select
          (select c.name from contact c join contact_external_id e on e.workspace_id = c.workspace_id
            and e.contact_id = c.id where e.source = 'crm' and e.external_id = 'u1') as name,
          (select count(*)::int from message where content in ('Hello', 'Hi, there')) as messages,
          (select count(*)::int from account where domain = 'acme.example') as accounts`
      return row!.name === 'Name 39' && row!.messages === 2 && row!.accounts === 1
    })
  })

  it('says what to do about a wrong token, address, file or option', async () => {
    const path = fileOf('one.csv', 'description\nGood\n')
    const cases: [words: string[], says: RegExp][] = [
      [[path, '--url', service.urls[0]!, '--token', 'wrong-token-0000000'], /does not know this token \(401\)/],
      [
        [path, '--url', `${service.urls[0]!}/elsewhere`, '--token', service.accessToken],
        /does not look like the service \(404\)/,
      ],
      [[path, '--url', 'feedback', '--token', service.accessToken], /must be an address/],
      [[path, '--token', service.accessToken, '--layout', 'x'], /--layout must be one of/],
      [[join(folder, 'none.csv')], /There is no file/],
      [[path, '--nonsense'], /nonsense/],
      [[path, '--encoding', 'utf-7'], /--encoding must be one of/],
      [[fileOf('text.txt', 'x')], /ends in none of/],
      [[fileOf('open.csv', 'description\n"never closed\n')], /malformed/],
    ]
    for (const [words, says] of cases) {
      const { code, stderr } = await runCommand({ environment: { DATA_DIR: folder } }, PROGRAM, ...words)
      assert.equal(code, 1, String(says))
      assert.match(stderr, says)
    }
  })

  it('waits as long as the rate limit asks, and goes on', { timeout: SLOW_MS }, async () => {
    const limited = await idleService()
    const bucket = `{${limited.redisPrefix}:${limited.workspaceId}}:bucket:submit_conversation`
    const conversation = (id: string) => ({
      id,
      source: 'limit',
      createdAt: '2024-01-01T10:00:00Z',
      contacts: [],
      messages: [],
    })
    await limited.redis.del(bucket)
    for (let at = 0; at < LIMIT; at++)
      assert.equal((await limited.post('/conversations', conversation(`spent-${at}`))).status, 200)
    // As if that were 57 seconds ago: the next token is back in three.
    const moments = (await limited.redis.lrange(bucket, 0, -1)).map((at) =>
      String(Number(at) - 57 * MICROSECONDS_PER_SECOND),
    )
    await limited.redis
      .multi()
      .del(bucket)
      .rpush(bucket, ...moments)
      .exec()
    const path = fileOf('limited.ndjson', [1, 2, 3].map((at) => JSON.stringify(conversation(`l-${at}`))).join('\n'))
    const { code, stdout, stderr } = await runAt(limited, path, '--kind', 'conversations')
    assert.equal(code, 0, stdout + stderr)
    assert.match(stdout, /rate limit: waiting \d s/)
    assert.match(stdout, /^3 accepted; 0 refused\.$/m)
    await limited.stop()
  })
})

describe('an import that is interrupted', () => {
  const folder = temporaryDirectory()
  let service: Service
  let worker: ServiceProcess | undefined
  before(async () => {
    service = await startService({ workers: 0, environment: { MAX_BACKLOG: '50' } })
  })
  after(async () => {
    await worker?.stop()
    await service.stop()
  })

  it(
    'goes on where it stopped when it was killed or the service had no room, and doubles nothing',
    { timeout: SLOW_MS },
    async () => {
      const path = join(folder, 'many.csv')
      // Without ids: only the journal and the keys keep them from being stored twice.
      writeFileSync(
        path,
        `description,source\n${Array.from({ length: ROWS }, (_, at) => `Text ${at},many\n`).join('')}`,
      )
      const words = [path, '--url', service.urls[0]!, '--token', service.accessToken]
      const first = spawnProgram(PROGRAM, words, { ...service.environment })
      const journal = `${path}.import`
      const settled = (): number => (existsSync(journal) ? readFileSync(journal, 'utf8').split('\n').length - 2 : 0)
      await until('some are settled', async () => settled() >= SOME, SLOW_MS)
      const ended = once(first, 'exit')
      first.kill('SIGKILL')
      await ended
      assert.ok(settled() < ROWS, `${settled()} were settled`)
      // Nothing takes what is accepted.
      await until(
        'there is no room',
        async () => (await service.post('/feedbacks', { description: 'x' })).status === 503,
      )
      const conversation = { id: 'c', source: 's', createdAt: '2024-01-01T10:00:00Z', contacts: [], messages: [] }
      for (let sent = 0; sent < 2; sent++) {
        const { status, headers } = await service.post('/conversations', conversation)
        assert.deepEqual([status, headers.get('ratelimit')], [503, '"submit_conversation";r=10'], 'nothing is spent')
      }

      const second = spawnProgram(PROGRAM, words, { ...service.environment })
      let printed = ''
      second.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
      const closed = once(second, 'close')
      await until('the import waits', async () => printed.includes('the service is busy: waiting'), SLOW_MS)
      worker = await startProcess('worker/main.ts', 'working', { ...service.environment })
      await closed
      assert.equal(second.exitCode, 0, printed)
      assert.match(printed, new RegExp(`^${ROWS} accepted, \\d+ of them before; 0 refused\\.$`, 'm'))
      const stored = async () => {
        const [row] = await service.sql<{ all: number; texts: number }[]>`
        select count(*)::int as all, count(distinct description)::int as texts from feedback where source = 'many'`
        return row!
      }
      await until('all are stored', async () => (await stored()).texts === ROWS)
      assert.deepEqual({ ...(await stored()) }, { all: ROWS, texts: ROWS })
    },
  )

  it('stops in order when it is asked to, and says that some is left', { timeout: SLOW_MS }, async () => {
    const path = join(folder, 'stopped.csv')
    writeFileSync(path, 'description\nOne\nTwo\n')
    const server = await busyServer()
    try {
      const { port } = server.address() as AddressInfo
      const child = spawnProgram(PROGRAM, [path, '--url', `http://127.0.0.1:${port}`, '--token', 'any'], {})
      let printed = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
      await until('it waits', async () => printed.includes('waiting 60 s'))
      const ended = once(child, 'close')
      process.kill(child.pid!, 'SIGINT')
      await ended
      assert.equal(child.exitCode, 1)
      assert.match(printed, /^0 accepted; 0 refused\.\nStopped: 2 are left\./m)
    } finally {
      server.close()
    }
  })
})

/** Never has room, and wants a minute each time. */
const busyServer = async (): Promise<Server> => {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(503, { 'Retry-After': '60', 'Content-Type': 'application/json' }).end('{"error":"busy"}')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}
