import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { after, describe, it } from 'node:test'
import { losingAnswers } from '../support/between.ts'
import { runCommand } from '../support/command.ts'
import { serveHttp } from '../support/http-server.ts'
import { spawnProgram } from '../support/service-process.ts'
import { sharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'

const service = await sharedService()
after(() => service.stop())

const PROGRAM = 'cli/import/import-command.ts'
const ROWS = 40
/** The number of rows with an answer before the kill. */
const SETTLED = 20
/** How often the service puts a record off. */
const PUT_OFF = 3

describe('an import that is interrupted', () => {
  const folder = temporaryDirectory()
  it('continues after a kill, and creates no duplicates', async () => {
    const path = join(folder, 'many.csv')
    // Rows without ids: only the journal and the keys prevent duplicates.
    writeFileSync(path, `description,source\n${Array.from({ length: ROWS }, (_, at) => `Text ${at},many\n`).join('')}`)
    const between = await losingAnswers(service.urls[0]!)
    const words = [path, '--url', between.url, '--token', service.accessToken]
    const sent = between.loseAnswersFrom(`"Text ${SETTLED}"`)
    const first = spawnProgram(PROGRAM, [...words, '--at-once', '1'], { ...service.environment })
    await sent
    await until('a row is accepted, and its answer is lost', async () => between.hasLost())
    const ended = once(first, 'exit')
    first.kill('SIGKILL')
    await ended
    between.passAnswers()
    const second = await runCommand(service, PROGRAM, ...words)
    between.stop()
    assert.equal(second.code, 0, second.stderr)
    assert.match(second.stdout, new RegExp(`^${ROWS} accepted, ${SETTLED} of them by earlier runs; 0 refused\\.$`, 'm'))
    const stored = async (): Promise<string[]> => {
      const rows = await service.sql<{ text: string }[]>`select description as text from feedback where source = 'many'`
      return rows.map(({ text }) => text)
    }
    await until('all rows are stored', async () => new Set(await stored()).size === ROWS)
    assert.equal((await stored()).length, ROWS)
  })

  it('stops at Ctrl-C, and says how many records are left', async () => {
    const path = join(folder, 'stopped.csv')
    writeFileSync(path, 'description\nOne\nTwo\n')
    // A service that puts every record off for a minute.
    const { url, stop } = await serveHttp((_, response) => {
      response.writeHead(503, { 'Retry-After': '60', 'Content-Type': 'application/json' }).end('{"error":"busy"}')
    })
    try {
      const child = spawnProgram(PROGRAM, [path, '--url', url, '--token', 'any'], {})
      let printed = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
      await until('the import waits', async () => printed.includes('waiting 60 s'))
      const ended = once(child, 'close')
      process.kill(child.pid!, 'SIGINT')
      await ended
      assert.equal(child.exitCode, 1)
      assert.match(printed, /^0 accepted; 0 refused\.\nStopped: 2 records are left\./m)
    } finally {
      stop()
    }
  })

  it('gives up a record after six failures, but counts none while another record is put off', async () => {
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
