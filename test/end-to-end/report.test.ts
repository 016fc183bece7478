import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const DAY_MS = 86_400_000
const HOSTILE = '<script>alert(1)</script>'
const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()

describe('npm run report', () => {
  const role = `reader_${randomBytes(4).toString('hex')}`
  const directory = temporaryDirectory()
  let service: SharedService
  let other: SharedService
  let asReader: Pick<SharedService, 'environment'>
  before(async () => {
    service = await sharedService()
    const { code, stdout, stderr } = await runCommand(service, 'cli/reader-command.ts', 'create', role)
    assert.equal(code, 0, stderr)
    const url = new URL(service.environment['DATABASE_URL']!)
    url.username = role
    url.password = stdout.trim()
    url.searchParams.set('target_session_attrs', 'read-write')
    // The first of two servers is away. A reader's sessions are read-only on the primary, too.
    const ofBoth = url.href.replace('@', '@127.0.0.1:1,')
    asReader = { environment: { ...service.environment, DATABASE_URL: ofBoth } }
    const account = { name: 'Acme', contractValue: 5_000 }
    for (let day = 1; day <= 6; day++) {
      const body = {
        project: { name: 'Mobile' },
        rating: 1,
        tags: ['battery drain', HOSTILE],
        account,
        contact: { email: `p${day}@acme.example` },
      }
      await service.submit('/feedbacks', { ...body, description: `${HOSTILE} no ${day}`, createdAt: daysAgo(day) })
    }
    await service.submit('/feedbacks', { description: 'Fine', rating: 5, tags: ['praise'], createdAt: daysAgo(40) })
    await service.submit('/feedbacks', { description: 'Long ago', tags: ['ancient'], createdAt: daysAgo(900) })
    other = await sharedService()
  })
  after(async () => {
    await runCommand(service, 'cli/reader-command.ts', 'drop', role)
    await service?.stop()
    await other?.stop()
  })

  const report = async (...words: string[]): Promise<string> => {
    const inWorkspace = ['--workspace', service.workspace]
    const out = join(directory, `${randomBytes(4).toString('hex')}.html`)
    const { code, stdout, stderr } = await runCommand(
      asReader,
      'cli/report/report-command.ts',
      '--out',
      out,
      ...inWorkspace,
      ...words,
    )
    assert.equal(code, 0, stderr)
    assert.match(stdout, /\d+ feedback/)
    assert.equal(statSync(out).mode & 0o777, 0o600)
    return readFileSync(out, 'utf8')
  }

  it('shows topics, news and accounts with a reader’s rights, and treats content as text', async () => {
    const page = await report()
    for (const shown of ['battery drain', 'praise', 'Acme', '5,000', 'Examples', 'New in the last seven days'])
      assert.ok(page.includes(shown), shown)
    assert.match(page, /Feedback over time: (?:0, )*1(?:, 0)*"/, 'praise')
    // One of seven ratings is 4 or 5.
    assert.match(page, /<bdi>API<\/bdi><\/th>\s*<td>7<\/td>\s*<td>14 %<\/td>/)
    assert.match(page, /<bdi>Mobile<\/bdi><\/th>\s*<td>6<\/td>\s*<td>1\.0<\/td>/)
    assert.ok(page.includes('&lt;script&gt;alert(1)&lt;/script&gt; no 1'))
    assert.ok(!page.includes('<script'))
    assert.ok(!page.includes('ancient'))
  })

  it('covers the requested time and workspace', async () => {
    const since = daysAgo(1_000).slice(0, 10)
    const until = daysAgo(800).slice(0, 10)
    const earlier = await report('--since', since, '--until', until)
    assert.ok(earlier.includes('ancient') && !earlier.includes('battery drain'))
    const ofOther = await report('--workspace', other.workspace)
    assert.ok(!ofOther.includes('battery drain') && !ofOther.includes('Acme'))
    for (const page of [earlier, ofOther]) assert.doesNotMatch(page, /NaN|Infinity|undefined/)
  })

  it('names the fault in a wrong call', async () => {
    const out = join(directory, 'never.html')
    const wrong: [RegExp, string[]][] = [
      [/usage/, []],
      [/--since must be a date/, ['--out', out, '--since', 'yesterday']],
      [/--since must be a date/, ['--out', out, '--since', '2026-02-30']],
      [/^A report covers at most 100 years: give a later --since/, ['--out', out, '--since', '0001-01-01']],
      [/before --until/, ['--out', out, '--since', '2026-02-01', '--until', '2026-01-01']],
      [/no workspace with this name/, ['--out', out, '--workspace', 'stranger']],
      [/cannot be written/, ['--out', join(directory, 'nowhere', 'report.html')]],
    ]
    for (const [message, words] of wrong) {
      const { code, stderr } = await runCommand(asReader, 'cli/report/report-command.ts', ...words)
      assert.equal(code, 1)
      assert.match(stderr, message)
    }
  })
})
