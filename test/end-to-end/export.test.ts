import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'csv-parse/sync'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet/src/node.js'
import { outputOf, runCommand } from '../support/command.ts'
import { ownWorkspace } from '../support/own-workspace.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { untilRead } from '../support/until-indexed.ts'

const PROGRAM = 'cli/export/export-command.ts'
const OWNER_ONLY = 0o600
const PERMISSIONS = 0o777
const DESCRIPTIONS = ['a "quoted", word', 'two\r\nlines', 'a\u2028line', '=1+1', 'Größe 🎉', '']

const RATINGS = [null, 4.5, 1e15, 1.25e-7, -2e6]

const byText = (one: unknown, other: unknown): number => (String(one) < String(other) ? -1 : 1)
const json = (text: unknown): unknown => JSON.parse(String(text))

describe('npm run export', () => {
  const directory = temporaryDirectory()
  let service: SharedService
  before(async () => {
    service = await sharedService()
    const items = DESCRIPTIONS.map((description, at) => ({
      operation: 'create_feedback',
      body: {
        description,
        tags: ['x', 'y'],
        rating: RATINGS[at] ?? null,
        source: 'Help',
        sourceId: `ticket ${at}`,
        sourceData: { 'a,b': [1.25, null], big: 9007199254740991 },
        createdAt: '2026-01-02T03:04:05.678901Z',
      },
    }))
    await service.submitAll(items)
    await untilRead(service.all, service.workspaceId)
  })
  after(() => service?.stop())

  const run = (...words: string[]) => outputOf(service, PROGRAM, '--workspace', service.workspace, ...words)
  const assertNoDraft = (out: string): void => assert.ok(!existsSync(`${out}.part`), out)
  const exported = async (format: string): Promise<string> => {
    const out = join(directory, `feedback.${format}`)
    assert.match(await run('--format', format, '--out', out), new RegExp(`: ${DESCRIPTIONS.length} records`))
    assertNoDraft(out)
    assert.equal(statSync(out).mode & PERMISSIONS, OWNER_ONLY, 'only its owner may read it')
    return out
  }
  const records = (path: string): Record<string, unknown>[] =>
    readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)

  it('writes every record as HTTP reads it, and the same bytes for the same records', async () => {
    const out = await exported('ndjson')
    const first = readFileSync(out)
    const { body } = await service.get('/api/v1/feedbacks?limit=500', { token: service.readToken })
    const byId = (one: Record<string, unknown>, other: Record<string, unknown>): number =>
      String(one['id']) < String(other['id']) ? -1 : 1
    assert.deepEqual(records(out), (body.feedbacks as Record<string, unknown>[]).toSorted(byId))
    assert.deepEqual(readFileSync(await exported('ndjson')), first)
  })

  it('writes CSV that gives each value back', async () => {
    const written = readFileSync(await exported('csv'))
    const rows = parse<Record<string, string>>(written, { columns: true, bom: true })
    const whole = records(await exported('ndjson'))
    assert.deepEqual(
      rows.map((row) => [row['id'], row['description'], row['createdAt']]),
      whole.map(({ id, description, createdAt }) => [id, description, createdAt]),
    )
    const ratings = rows.map((row) => row['rating']!)
    assert.deepEqual(
      ratings.map((rating) => (rating === '' ? undefined : Number(rating))),
      whole.map(({ rating }) => rating),
    )
    for (const rating of ['1000000000000000', '0.000000125', '-2000000']) assert.ok(ratings.includes(rating), rating)
    assert.deepEqual(
      rows.map((row) => [json(row['sourceData']), json(row['tags']), row['tagsGenerated']]),
      whole.map(({ sourceData, tags }) => [sourceData, tags, 'false']),
    )
  })

  it('writes typed Parquet that gives each value back', async () => {
    const file = await asyncBufferFromFile(await exported('parquet'))
    const rows = (await parquetReadObjects({ file })) as Record<string, unknown>[]
    const whole = records(await exported('ndjson'))
    assert.deepEqual(
      rows.map((row) => [row['id'], row['description'], row['rating'], row['tagsGenerated'], row['title']]),
      whole.map(({ id, description, rating }) => [id, description, rating ?? null, false, null]),
    )
    assert.deepEqual(
      rows.map((row) => [json(row['sourceData']), (row['createdAt'] as Date).toISOString(), row['tags']]),
      whole.map(({ sourceData, tags }) => [sourceData, '2026-01-02T03:04:05.678Z', tags]),
    )
  })

  it('writes feedback and accounts that join by id, also where the account comes through the customer', async () => {
    const workspace = `joins ${randomUUID()}`
    const own = await ownWorkspace({ sql: service.all, urls: service.urls }, workspace)
    const account = { id: 'acme', properties: { $name: 'Acme', $domain: 'acme.example', $contractValue: 1200 } }
    await own.submit('/contacts/identify', { id: 'ann', properties: { $email: 'ann@acme.example' }, account })
    const bodies = [
      { description: 'by customer', tags: ['a, b', '"c"', 'ü'], contact: { email: 'ann@acme.example' } },
      { description: 'its own', tags: [], account: { name: 'Acme' } },
      { description: 'of no company', rating: 3 },
    ]
    for (const body of bodies) await own.submit('/feedbacks', body)
    const rows = async (kind: string): Promise<Record<string, unknown>[]> => {
      const out = join(directory, `${kind}.parquet`)
      await outputOf(service, PROGRAM, '--workspace', workspace, '--format', 'parquet', '--kind', kind, '--out', out)
      return (await parquetReadObjects({ file: await asyncBufferFromFile(out) })) as Record<string, unknown>[]
    }
    const accounts = new Map((await rows('account')).map((row) => [row['id'], row]))
    const joined = (await rows('feedback')).map((row) => {
      const { name = null, contractValue = null } = accounts.get(row['accountId']) ?? {}
      return [row['description'], name, contractValue, row['accountName'], row['rating']]
    })
    assert.deepEqual(joined.toSorted(byText), [
      ['by customer', 'Acme', 1200, 'Acme', null],
      ['its own', 'Acme', 1200, 'Acme', null],
      ['of no company', null, null, null, 3],
    ])
    const tagged = (await rows('feedback')).map(({ description, tags }) => [description, tags])
    assert.deepEqual(tagged.toSorted(byText).slice(0, 2), [
      ['by customer', ['a, b', '"c"', 'ü']],
      ['its own', []],
    ])
  })

  it('begins CSV with a byte order mark, without which Excel garbles the texts', async () => {
    assert.deepEqual([...readFileSync(await exported('csv')).subarray(0, 3)], [0xef, 0xbb, 0xbf])
  })

  it('begins again after an interruption, so that a purge in between has removed its records', async () => {
    const email = 'leaving@example.org'
    await service.submit('/feedbacks', { description: 'Farewell words', contact: { email } })
    const out = join(directory, 'interrupted.ndjson')
    await run('--format', 'ndjson', '--out', out)
    // A killed command leaves its draft.
    renameSync(out, `${out}.part`)
    assert.ok(readFileSync(`${out}.part`, 'utf8').includes('Farewell words'))
    await service.settled(await service.post('/contacts/purge', { email }, { token: service.adminToken }))
    await run('--format', 'ndjson', '--out', out)
    assert.equal(readFileSync(out, 'utf8'), readFileSync(await exported('ndjson'), 'utf8'))
    assert.ok(!readFileSync(out, 'utf8').includes('Farewell words'))
    assertNoDraft(out)
  })

  it('writes a file for each kind, and refuses wrong calls', async () => {
    for (const kind of ['customer', 'account', 'project', 'feedback_category', 'conversation', 'message']) {
      await run('--format', 'csv', '--kind', kind, '--out', join(directory, kind))
      assert.ok(existsSync(join(directory, kind)), kind)
    }
    const out = join(directory, 'x')
    for (const [words, says] of [
      [['--format', 'xlsx', '--out', out], /--format must be one of ndjson, csv, parquet/],
      [['--format', 'csv', '--kind', 'person', '--out', out], /--kind must be one of feedback/],
      [['--format', 'csv'], /usage: npm run export/],
      [['--format', 'csv', '--out', join(directory, 'no', 'folder')], /cannot be written \(.*ENOENT\)/],
    ] as const) {
      const { code, stderr } = await runCommand(service, PROGRAM, '--workspace', service.workspace, ...words)
      assert.equal(code, 1)
      assert.match(stderr, says)
    }
  })
})
