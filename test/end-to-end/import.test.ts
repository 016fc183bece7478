import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { findLastingPort as closedPort } from '../support/lasting-port.ts'
import { DEAD_PROXY } from '../support/service-process.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'

const service = await sharedService()
after(() => service.stop())

const PROGRAM = 'cli/import/import-command.ts'

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

describe('the import of a file', () => {
  const folder = temporaryDirectory()
  const fileOf = (name: string, content: string): string => {
    const path = join(folder, name)
    writeFileSync(path, content)
    return path
  }
  const folderOf = (name: string): string => {
    mkdirSync(join(folder, name))
    return join(folder, name)
  }
  const run = (path: string, ...options: readonly string[]) => runAt(service, path, ...options)
  const runAt = (at: SharedService, path: string, ...options: readonly string[]) =>
    runCommand(at, PROGRAM, path, '--url', at.urls[0]!, '--token', at.accessToken, ...options)
  const count = async (source: string): Promise<number> => {
    const [row] = await service.sql<{ n: number }[]>`select count(*)::int as n from feedback where source = ${source}`
    return row!.n
  }

  it('submits every valid row of a CSV file, and lists the others with their lines', async () => {
    const good = Array.from({ length: 300 }, (_, at) => {
      const text = at % 3 === 0 ? `It said "no",\nthen it hung (${at})` : `Plain, ${at}`
      return `${quoted(text)},${at % 5},person-${at % 20}@b.example,T-${at}\r\n`
    })
    const bad = ['No rating,much,a@b.example,B-1\r\n', 'too,1,many,columns,here\r\n', ',,a@b.example,B-2\r\n']
    const path = fileOf('feedback.csv', `\ufeffText,Stars,Email,Ticket\r\n${[...good, ...bad].join('')}`)
    const columns = ['Text=description', 'Stars=rating', 'Email=contact.email', 'Ticket=sourceId']
    const map = columns.flatMap((column) => ['--map', column])
    const options = [...map, '--set', 'source=survey', '--set', 'tags=imported']
    const { code, stdout, stderr } = await run(path, ...options)
    assert.equal(code, 1, stdout + stderr)
    assert.match(stdout, /Stars +→ {2}rating/)
    assert.match(stdout, /^300 accepted; 3 refused\.$/m)
    // The row with too many cells is not sent.
    assert.match(stdout, /^feedback: 302\/302 {2}[\d.]+\/s$/m)
    // Every third text has two lines.
    const firstBadLine = 2 + 300 + 100
    const listed = [
      `${firstBadLine}: rating must be a number`,
      `${firstBadLine + 1}: the row has 5 columns, the header 4`,
    ]
    for (const line of [...listed, `${firstBadLine + 2}: description is required`])
      assert.ok(stdout.includes(`line ${line}`), line)
    await until('all rows are stored', async () => (await count('survey')) === 300)
    const [row] = await service.sql<{ description: string; rating: number; tags: string[]; email: string }[]>`
      select f.description, f.rating::float8 as rating, f.tags, c.email
      from feedback f join contact c on c.workspace_id = f.workspace_id and c.id = f.contact_id
      where f.source_id = 'T-3'`
    const description = 'It said "no",\nthen it hung (3)'
    assert.deepEqual({ ...row }, { description, rating: 3, tags: ['imported'], email: 'person-3@b.example' })

    const again = await run(path, ...options)
    assert.match(again.stdout, /^300 accepted, 300 of them by earlier runs; 3 refused\.$/m)
    const otherwise = await run(path, ...map, '--set', 'source=other')
    assert.equal(otherwise.code, 1)
    assert.match(otherwise.stderr, /the mapping changed/)
    assert.ok(
      !readFileSync(`${path}.import`, 'utf8').includes('example'),
      'the journal must not have content of the file',
    )
  })

  it('shows refusals in a dry run, and sends nothing', async () => {
    const tags = Array.from({ length: 101 }, (_, at) => `t${at}`).join()
    const path = fileOf('dry.csv', `description,rating,source,tags\nGood,top,dry,\nBad,x,dry,\nMuch,1,dry,"${tags}"\n`)
    const { code, stdout } = await run(path, '--map-value', 'rating', 'top=5', '--dry-run')
    assert.equal(code, 1)
    assert.match(
      stdout,
      /2 would be refused:\n {2}line 3: rating must be a number\n {2}line 4: tags must be an array of at most 100 tags/,
    )
    assert.ok(!existsSync(`${path}.import`))
    assert.equal(await count('dry'), 0)
  })

  it('imports contacts, accounts and conversations, and keeps the last record of an id', async () => {
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
    await until('the records are stored', async () => {
      const [row] = await service.sql<{ name: string | null; messages: number; accounts: number }[]>`
        select
          (select c.name from contact c join contact_external_id e on e.workspace_id = c.workspace_id
            and e.contact_id = c.id where e.source = 'crm' and e.external_id = 'u1') as name,
          (select count(*)::int from message where content in ('Hello', 'Hi, there')) as messages,
          (select count(*)::int from account where domain = 'acme.example') as accounts`
      return row!.name === 'Name 39' && row!.messages === 2 && row!.accounts === 1
    })
  })

  it('reports a wrong token, address, file or option at once, and names the fault', async () => {
    const path = fileOf('one.csv', 'description\nGood\n')
    const reaching = ['--url', service.urls[0]!, '--token', service.accessToken]
    const cases: [words: string[], says: RegExp][] = [
      [
        [path, '--url', service.urls[0]!, '--token', 'wrong-token-0000000'],
        /^401: .*[^.]\. The token is not valid: set FEEDBACK_TOKEN \(or --token\)/,
      ],
      [
        [path, '--url', `${service.urls[0]!}/elsewhere`, '--token', service.accessToken],
        /^404: .*The address is not that of the service: correct FEEDBACK_URL \(or --url\)/,
      ],
      [
        [path, '--url', service.urls[0]!, '--token', service.readToken],
        /^403: .*The token lacks the permission: set FEEDBACK_TOKEN \(or --token\)/,
      ],
      [[path, '--url', 'feedback', '--token', service.accessToken], /must be an address/],
      [[join(folder, 'none.csv')], /There is no file .*none\.csv/],
      [[join(folder, 'none.csv', 'x.csv')], /There is no file/],
      [[folderOf('folder.csv')], /folder\.csv is a folder/],
      [[path, '--state', join(folder, 'none', 'x'), ...reaching], /journal .* cannot be used \(ENOENT\)/],
      [[path, '--url', `http://127.0.0.1:${await closedPort()}`, '--token', 'any'], /does not answer \(.*refused/i],
      [[path, '--nonsense'], /nonsense/],
    ]
    for (const [words, says] of cases) {
      const { code, stdout, stderr } = await runCommand({ environment: { DATA_DIR: folder } }, PROGRAM, ...words)
      assert.equal(code, 1, String(says))
      assert.match(stderr, says)
      assert.doesNotMatch(stdout, /waiting/, 'a final fault is reported at once')
    }
  })

  it('imports elements that share a line, and finds files in the folder of the caller', async () => {
    const array = JSON.stringify(Array.from({ length: 300 }, (_, at) => ({ description: `e${at}`, source: 'shared' })))
    fileOf('shared.json', array)
    const called = { ...service.environment, npm_package_name: 'feedback-insights', INIT_CWD: folder }
    const { code, stdout, stderr } = await runAt({ ...service, environment: called }, 'shared.json')
    assert.equal(code, 0, stdout + stderr)
    assert.match(stdout, /^300 accepted; 0 refused\.\n {2}accepted: line 1$/m)
    assert.ok(existsSync(join(folder, 'shared.json.import')))
    await until('all rows are stored', async () => (await count('shared')) === 300)
  })

  it('recognises a record by its content in other files and lines, and uses no proxy for loopback', async () => {
    const proxied = { ...service, environment: { ...service.environment, ...DEAD_PROXY, NO_PROXY: 'x' } }
    const settings = ['--set', 'source=play']
    const head = 'description,rating\n'
    const first = fileOf('day1.csv', `${head}Good,4\n,1\n,1\n`)
    const results = [await runAt(proxied, first, ...settings)]
    results.push(await run(fileOf('day2.csv', `${head}New,5\n,1\nGood,4\n,1\n`), ...settings))
    fileOf('day1.csv', `${head}Newer,3\nGood,4\n,1\n,1\n`)
    results.push(await run(first, ...settings))
    results.push(await run(first, ...settings))
    // Earlier runs are those in the journal of the same file. The service recognises records of other
    // files by their keys.
    assert.deepEqual(
      results.map(({ code, stdout, stderr }) => [code, /^\d+ accepted.*\.$/m.exec(stdout)?.[0], stderr]),
      [
        [0, '3 accepted; 0 refused.', ''],
        [0, '4 accepted; 0 refused.', ''],
        [0, '4 accepted, 3 of them by earlier runs; 0 refused.', ''],
        [0, '4 accepted, 4 of them by earlier runs; 0 refused.', ''],
      ],
    )
    await until('all rows are stored', async () => (await count('play')) >= 5)
    assert.equal(await count('play'), 5)
  })
})
