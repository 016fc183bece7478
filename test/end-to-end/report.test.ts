import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { outputOf, runCommand } from '../support/command.ts'
import { textOf } from '../support/insights-visitor.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const PROGRAM = 'cli/report-command.ts'
const SOURCE = 'cli/source-command.ts'
const DAY_MS = 86_400_000
const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()

describe('npm run report', () => {
  const directory = temporaryDirectory()
  let service: SharedService
  let other: SharedService
  before(async () => {
    service = await sharedService()
    const account = { name: 'Acme', contractValue: 5_000 }
    for (let day = 1; day <= 6; day++) {
      await service.submit('/feedbacks', {
        description: `<p>It <b>drains</b> &amp; heats, no ${day}</p>`,
        createdAt: daysAgo(day),
        project: { name: 'Mobile' },
        rating: 1,
        tags: ['battery drain'],
        account,
        contact: { email: `p${day}@acme.example` },
      })
    }
    await outputOf(service, SOURCE, 'set', 'API', '--scale', '1..5', '--workspace', service.workspace)
    await service.submit('/feedbacks', { description: 'Fine', rating: 5, tags: ['praise'], createdAt: daysAgo(40) })
    await service.submit('/feedbacks', { description: 'Long ago', tags: ['ancient'], createdAt: daysAgo(900) })
    other = await sharedService()
  })
  after(async () => {
    await service?.stop()
    await other?.stop()
  })

  const report = async (...words: string[]): Promise<string> => {
    const out = join(directory, 'report.html')
    // If `words` name a workspace too, the last one counts.
    const inWorkspace = ['--workspace', service.workspace]
    assert.match(await outputOf(service, PROGRAM, '--out', out, ...inWorkspace, ...words), /\d+ feedback/)
    assert.equal(statSync(out).mode & 0o777, 0o600)
    return readFileSync(out, 'utf8')
  }

  it('has the pages of /insights: themes or tags, texts, accounts and sources, without links', async () => {
    const page = await report()
    const shown = textOf(page)
    for (const part of ['What changed', 'Themes', 'Accounts', 'Sources', 'battery drain', 'praise', 'Acme 5,000 6'])
      assert.ok(shown.includes(part), part)
    assert.doesNotMatch(page, /<a |<form|<script|https?:|NaN|undefined/)
    assert.match(shown, /Feedback 7 before: 0/)
    assert.match(shown, /API 1 to 5 7 ratings, 1 to 5/)
    assert.ok(!page.includes('ancient'))
  })

  it('shows texts of a theme, without their markup', async () => {
    const [row] = await service.sql<{ id: string }[]>`select id from feedback where description like '%no 1%'`
    const made = { name: 'Battery', feedbackIds: [row!.id] }
    const options = { token: service.adminToken, headers: { Prefer: 'wait=30' } }
    assert.equal((await service.request('/api/v1/themes', made, options)).status, 201)
    const page = await report()
    assert.ok(page.includes('It drains &amp; heats, no 1'))
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

  it('includes the day of --until, and has a column for each day without feedback', async () => {
    const day = '2026-01-31'
    const own = { description: 'Late', rating: 2, tags: ['january'] }
    await service.submit('/feedbacks', { ...own, createdAt: `${day}T23:59:59.999Z` })
    await service.submit('/feedbacks', { ...own, createdAt: '2026-02-01T00:00:00Z' })
    const page = await report('--since', '2026-01-28', '--until', day)
    assert.match(textOf(page), /2026-01-28 to 2026-01-31 \(UTC\)/)
    const days = [...page.matchAll(/<title>day of (\S+): (\d+) feedback/g)].map(
      ([, at, feedback]) => `${at} ${feedback}`,
    )
    const expected = ['2026-01-28 0', '2026-01-29 0', '2026-01-30 0', '2026-01-31 1']
    assert.deepEqual([...new Set(days)], expected)
    assert.ok((await report('--since', day, '--until', day)).includes('january'))
  })

  it('takes means over satisfaction alone, so that scales do not mix, and names unknown scales', async () => {
    const mixed = await sharedService()
    try {
      const ratings = {
        // 20 ratings show a scale of 1 to 5, and one of 0 to 10.
        stars: [...Array<number>(18).fill(1), 5, 5],
        survey: [...Array<number>(8).fill(10), ...Array<number>(4).fill(6.5), ...Array<number>(8).fill(0)],
        percent: [100, 95, 90, 85, 8],
        thumbs: [1, 1, 1, 0],
      }
      await outputOf(mixed, SOURCE, 'set', 'thumbs', '--scale', '0..1', '--workspace', mixed.workspace)
      const items = Object.entries(ratings).flatMap(([source, given]) =>
        given.map((rating) => ({
          operation: 'create_feedback' as const,
          body: { description: 'x', source, rating, tags: ['mixed'], account: { name: 'Acme' } },
        })),
      )
      await mixed.submitAll(items)
      const shown = textOf(await report('--workspace', mixed.workspace))
      // (20 × 10 % + 20 × 53 % + 4 × 75 %) / 44, in the tile and for the account.
      assert.match(shown, /Satisfaction 35 % 35 % of 44 rated, 27 bad/)
      assert.match(shown, /Acme – 49 0 new 35 % of 44 rated/)
      assert.match(shown, /stars 20 0 new 10 % of 20 rated, 18 bad/)
      assert.match(shown, /percent unknown 5 ratings, 8 to 100 –/)
      assert.match(shown, /stars 1 to 5 20 ratings, 1 to 5 –/)
      // 6.5 is neither a promoter nor a detractor.
      assert.match(shown, /survey 0 to 10 20 ratings, 0 to 10 0 of 20 answers/)
      assert.match(shown, /No mean counts ratings without a scale/)
    } finally {
      await mixed.stop()
    }
  })

  it('names the fault in a wrong call', async () => {
    const out = join(directory, 'never.html')
    const wrong: [RegExp, string[]][] = [
      [/--since must be a date/, ['--out', out, '--since', '2026-02-30']],
      [/^A report covers at most 100 years: give a later --since/, ['--out', out, '--since', '0001-01-01']],
      [/before --until/, ['--out', out, '--since', '2026-02-01', '--until', '2026-01-01']],
      [/no workspace with this name/, ['--out', out, '--workspace', 'stranger']],
      [/cannot be written/, ['--out', join(directory, 'nowhere', 'report.html')]],
    ]
    for (const [message, words] of wrong) {
      const { code, stderr } = await runCommand(service, PROGRAM, ...words)
      assert.equal(code, 1)
      assert.match(stderr, message)
    }
  })
})
