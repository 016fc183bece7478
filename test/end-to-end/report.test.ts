import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { outputOf, runCommand } from '../support/command.ts'
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

  it('shows topics, news, examples and accounts', async () => {
    const page = await report()
    for (const shown of ['battery drain', 'praise', 'Acme', '5,000', 'Examples', 'New in the seven days up to'])
      assert.ok(page.includes(shown), shown)
    assert.match(page, /Feedback over time: (?:0, )*1(?:, 0)*"/, 'praise')
    // One of seven ratings is 4 or 5.
    assert.match(
      page,
      /<bdi>API<\/bdi><\/th>\s*<td>7<\/td>\s*<td>14 %<\/td>\s*<td>–<\/td>\s*<td>14 % \(7 rated, 86 % bad\)<\/td>\s*<td>1 to 5<\/td>/,
    )
    assert.match(page, /<bdi>Mobile<\/bdi><\/th>\s*<td>6<\/td>\s*<td>0 % \(6 rated, 100 % bad\)<\/td>/)
    assert.ok(page.includes('It drains &amp; heats, no 1'))
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

  it('includes the day of --until, and has a column for each day without feedback', async () => {
    const day = '2026-01-31'
    const own = { description: 'Late', rating: 2, tags: ['january'] }
    await service.submit('/feedbacks', { ...own, createdAt: `${day}T23:59:59.999Z` })
    await service.submit('/feedbacks', { ...own, createdAt: '2026-02-01T00:00:00Z' })
    const page = await report('--since', '2026-01-28', '--until', day)
    assert.match(page, /2026-01-28 to 2026-01-31 \(UTC\)/)
    const days = [...page.matchAll(/<title>day of (\S+): (\d+) feedback/g)].map(
      ([, at, feedback]) => `${at} ${feedback}`,
    )
    const expected = ['2026-01-28 0', '2026-01-29 0', '2026-01-30 0', '2026-01-31 1']
    assert.deepEqual([...new Set(days)], expected)
    assert.ok((await report('--since', day, '--until', day)).includes('january'))
  })

  it('takes means over satisfaction alone, so that scales do not mix, and asks for an unknown scale', async () => {
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
      const page = (await report('--workspace', mixed.workspace)).replaceAll(/\s+/g, ' ')
      const cells = (source: string): string[] => {
        const [row = ''] = new RegExp(`<bdi>${source}</bdi></th>.*?</tr>`).exec(page) ?? []
        return [...row.matchAll(/<td>(.*?)<\/td>/g)].map(([, cell]) => cell!)
      }
      assert.deepEqual(cells('stars'), ['20', '10 %', '–', '10 % (20 rated, 90 % bad)', '1 to 5'])
      assert.deepEqual(cells('survey'), ['20', '–', '−20', '53 % (20 rated, 40 % bad)', '0 to 10'])
      assert.deepEqual(cells('percent'), ['5', '–', '–', '–', 'unknown'])
      assert.deepEqual(cells('thumbs'), ['4', '–', '–', '75 % (4 rated, 25 % bad)', '0 to 1'])
      assert.ok(page.includes(`npm run source -- set percent --scale LOW..HIGH --workspace ${mixed.workspace}`))
      // (20 × 10 % + 20 × 53 % + 4 × 75 %) / 44, in the tile, the charts and the tables.
      const all = '35 % (44 rated, 61 % bad)'
      assert.match(page, /<p class="figure">35 %<\/p> <p class="note">44 rated, 61 % bad<\/p>/)
      assert.ok(page.includes(`49 feedback, satisfaction ${all}</title>`), 'in a step')
      assert.ok(page.includes(`: 49 feedback, satisfaction ${all}; in the eight weeks before`), 'in the news')
      assert.equal(cells('mixed')[3], all)
      assert.equal(cells('Acme')[2], all)
    } finally {
      await mixed.stop()
    }
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
      const { code, stderr } = await runCommand(service, PROGRAM, ...words)
      assert.equal(code, 1)
      assert.match(stderr, message)
    }
  })
})
