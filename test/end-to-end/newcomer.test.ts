import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import type { Overview } from '../../api/operators/overview/overview.ts'
import type { Sql } from '../../db/postgres.ts'
import { openTerminal, readmeScripts, type Terminal } from '../support/readme-commands.ts'
import {
  bareEnvironment,
  cloneOfRepository,
  connectTo,
  isHere,
  NPM_BY_BUN,
  runtime,
  startClone,
  type Started,
} from '../support/started-clone.ts'
import { until } from '../support/until.ts'

const ROWS = Number(process.env['IMPORTED_ROWS'] ?? 10_000)
const PEOPLE = 100
const STORED_WITHIN_MS = 120_000

describe('a newcomer', () => {
  let clone: string
  let started: Started
  let terminal: Terminal
  let sql: Sql

  before(async () => {
    clone = cloneOfRepository()
    started = await startClone(clone)
    sql = connectTo(started)
    terminal = openTerminal({ cwd: clone, env: bareEnvironment })
    if (!isHere('npm')) await terminal.run(NPM_BY_BUN)
  })
  after(async () => {
    await terminal?.close()
    await sql?.end({ timeout: 5 })
    started?.kill()
    rmSync(clone, { recursive: true, force: true })
  })

  const url = (): string => new URL(started.printed('API')).origin
  const get = (path: string): Promise<Response> =>
    fetch(`${url()}${path}`, { headers: { Authorization: `Bearer ${started.printed('Admin token')}` } })
  const overview = async (): Promise<Overview> => (await get('/admin/overview.json')).json() as Promise<Overview>
  const feedback = async (where: string): Promise<number> => {
    const [row] = await sql.unsafe<{ n: number }[]>(`select count(*)::int as n from feedback where ${where}`)
    return row!.n
  }

  it('reads the documentation, all of which this service serves itself', async () => {
    const page = await fetch(`${url()}/docs`)
    assert.equal(page.status, 200)
    const html = await page.text()
    assert.doesNotMatch(html, /(?:src|href)="(?:https?:)?\/\//)
    const parts = [...html.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, path]) => new URL(path!, page.url))
    assert.ok(parts.length > 0)
    for (const part of parts) {
      const answer = await fetch(part)
      assert.equal(answer.status, 200, part.href)
      await answer.arrayBuffer()
    }
  })

  it('submits with the script of docs/integrate.md, and sees it in the overview', async () => {
    const path = join(clone, 'test', 'script.ts')
    writeFileSync(path, readmeScripts(readFileSync(join(clone, 'docs/integrate.md'), 'utf8'), 'ts')[0]!)
    await terminal.run(`FEEDBACK_URL='${url()}' ACCESS_TOKEN='${started.printed('Access token')}' ${runtime} '${path}'`)
    await until('the overview shows that it was accepted and stored', async () => {
      const { points } = await overview()
      return (
        points.some(({ acceptedPerSecond }) => acceptedPerSecond! > 0) && points.some((at) => at.storedPerSecond! > 0)
      )
    })
  })

  it(`imports a CSV file of ${ROWS} rows`, async () => {
    const rows = Array.from(
      { length: ROWS },
      (_, at) => `"Row ${at}, said ""twice""",person-${at % PEOPLE}@b.example\n`,
    )
    const path = join(clone, 'rows.csv')
    writeFileSync(path, `Text,Email\n${rows.join('')}`)
    const output = await terminal.run(
      `npm run import -- '${path}' --map Text=description --map Email=contact.email --set source=rows ` +
        `--url '${url()}' --token '${started.printed('Access token')}'`,
    )
    assert.match(output, new RegExp(`^${ROWS} accepted; 0 refused\\.$`, 'm'))
    await until('all are stored', async () => (await feedback(`source = 'rows'`)) === ROWS, STORED_WITHIN_MS)
  })

  it('purges one contact with everything that belongs to it', async () => {
    const answer = await fetch(`${url()}/api/v1/contacts/purge`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${started.printed('Admin token')}`,
        'Content-Type': 'application/json',
        Prefer: 'wait=60',
      },
      body: JSON.stringify({ email: 'person-7@b.example' }),
    })
    assert.equal(answer.status, 200, await answer.text())
    await until('it is gone', async () => (await feedback(`source = 'rows'`)) === ROWS - ROWS / PEOPLE)
    assert.equal(await feedback(`description like 'Row 7,%'`), 0)
  })

  it('stops it, starts it again, and finds everything', async () => {
    const stored = await feedback('true')
    await sql.end({ timeout: 5 })
    assert.equal(await started.interrupt(), 0, started.output())
    started = await startClone(clone)
    sql = connectTo(started)
    assert.equal(await feedback('true'), stored)
    assert.equal((await get('/readyz')).status, 200)
    assert.equal(await started.interrupt(), 0, started.output())
  })
})
