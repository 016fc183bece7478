import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { after, describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { serveHttp } from '../support/http-server.ts'
import { spawnProgram } from '../support/service-process.ts'
import { sharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'

const service = await sharedService()
after(() => service.stop())

const PROGRAM = 'cli/import/import-command.ts'
const SLOW_MS = 240_000
/** More rows than the import sends before a kill arrives. */
const ROWS = 1_500
const SOME = 20
/** How often the service asks for a later attempt. */
const PUT_OFF = 3

describe('an import that is interrupted', () => {
  const folder = temporaryDirectory()
  it('continues after a kill, and creates no duplicates', { timeout: SLOW_MS }, async () => {
    const path = join(folder, 'many.csv')
    // Rows without ids: only the journal and the keys prevent duplicates.
    writeFileSync(path, `description,source\n${Array.from({ length: ROWS }, (_, at) => `Text ${at},many\n`).join('')}`)
    const words = [path, '--url', service.urls[0]!, '--token', service.accessToken]
    const first = spawnProgram(PROGRAM, words, { ...service.environment })
    const journal = `${path}.import`
    const settled = (): number => (existsSync(journal) ? readFileSync(journal, 'utf8').split('\n').length - 2 : 0)
    await until('some rows are settled', async () => settled() >= SOME, SLOW_MS)
    const ended = once(first, 'exit')
    first.kill('SIGKILL')
    await ended
    assert.ok(settled() < ROWS, `${settled()} were settled`)
    const second = await runCommand(service, PROGRAM, ...words)
    assert.equal(second.code, 0, second.stderr)
    assert.match(second.stdout, new RegExp(`^${ROWS} accepted, \\d+ of them by earlier runs; 0 refused\\.$`, 'm'))
    const stored = async () => {
      const [row] = await service.sql<{ all: number; texts: number }[]>`
        select count(*)::int as all, count(distinct description)::int as texts from feedback where source = 'many'`
      return row!
    }
    await until('all rows are stored', async () => (await stored()).texts === ROWS)
    assert.deepEqual({ ...(await stored()) }, { all: ROWS, texts: ROWS })
  })

  it('stops in order on request, and says how many records are left', { timeout: SLOW_MS }, async () => {
    const path = join(folder, 'stopped.csv')
    writeFileSync(path, 'description\nOne\nTwo\n')
    // A service that never has room, and asks for a minute each time.
    const { url, stop } = await serveHttp((_, response) => {
      response.writeHead(503, { 'Retry-After': '60', 'Content-Type': 'application/json' }).end('{"error":"busy"}')
    })
    try {
      const child = spawnProgram(PROGRAM, [path, '--url', url, '--token', 'any'], {})
      let printed = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
      await until('it waits', async () => printed.includes('waiting 60 s'))
      const ended = once(child, 'close')
      process.kill(child.pid!, 'SIGINT')
      await ended
      assert.equal(child.exitCode, 1)
      assert.match(printed, /^0 accepted; 0 refused\.\nStopped: 2 records are left\./m)
    } finally {
      stop()
    }
  })

  it('waits for records that are put off, and gives up one that fails six times', { timeout: SLOW_MS }, async () => {
    const path = join(folder, 'faulty.csv')
    writeFileSync(path, 'description\nFaulty\nLate\n')
    let batches = 0
    const { url, stop } = await serveHttp((request, response, received) => {
      if (request.method === 'GET') return response.writeHead(404).end()
      const { items } = JSON.parse(received.toString()) as { items: { body: { description: string } }[] }
      batches++
      const late = batches <= PUT_OFF ? { status: 429, retryAfter: 1 } : { status: 201 }
      const results = items.map(({ body }) => (body.description === 'Late' ? late : { status: 500 }))
      return response.end(
        JSON.stringify({ results: results.map((result) => ({ ...result, body: { error: 'fault' } })) }),
      )
    })
    try {
      const words = [path, '--url', url, '--token', 'any']
      const { stdout, stderr } = await runCommand(service, PROGRAM, ...words)
      assert.match(stdout, /^1 accepted; 1 refused\./m, stderr)
      assert.match(stdout, /line 2: 500: fault/)
      assert.equal(batches, PUT_OFF + 6)
    } finally {
      stop()
    }
  })
})
