import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import process from 'node:process'
import { DEFAULT_WORKSPACE } from '../../db/workspaces/workspaces.ts'
import { cannotWrite, dateOf, findWorkspace, OWNER_ONLY } from '../option-values.ts'
import { CommandError, pathOfCaller, print, runCommand } from '../run-command.ts'
import { readReport } from './read-report.ts'
import { periodOf } from './report.ts'
import { reportPage } from './report-page.ts'

const USAGE = `usage: npm run report -- --out FILE [--since DATE] [--until DATE] [--workspace NAME]

Writes a page about the feedback of one workspace: topics, changes and accounts, with charts and examples.
The page is one HTML file that loads no other files. FILE is relative to the current folder.
The role of \`npm run reader\` is enough: put the address of that role into DATABASE_URL.
DATE is a day in UTC (2026-01-31) or a date-time. By default the report covers the last 13 weeks, up to now, of the
workspace ${DEFAULT_WORKSPACE}.`

const DEFAULT_MS = 13 * 7 * 86_400_000
/** In a longer report, the charts would have too many columns: one for each month. */
const MOST_YEARS = 100
const MOST_MS = MOST_YEARS * 366 * 86_400_000

/** Never writes into an existing file, which could be a link or readable by other users. */
const replaceFile = async (path: string, text: string): Promise<void> => {
  const draft = `${path}.${process.pid}`
  try {
    await writeFile(draft, text, { mode: OWNER_ONLY, flag: 'wx' })
    await rename(draft, path)
  } finally {
    await rm(draft, { force: true })
  }
}

await runCommand({
  usage: USAGE,
  isReadOnly: true,
  options: ['out', 'since', 'until', 'workspace'],
  run: async ({ sql, values }) => {
    if (!values['out']) throw new CommandError(USAGE)
    const now = new Date()
    const until = dateOf('until', values['until']) ?? now
    const since = dateOf('since', values['since']) ?? new Date(until.getTime() - DEFAULT_MS)
    if (since >= until) throw new CommandError('--since must be before --until.')
    if (until.getTime() - since.getTime() > MOST_MS) {
      throw new CommandError(
        `A report covers at most ${MOST_YEARS} years: give a later --since, or an earlier --until.`,
      )
    }
    const out = pathOfCaller(values['out'])
    const workspace = await findWorkspace(sql, values['workspace'] ?? DEFAULT_WORKSPACE)
    const report = await readReport(sql, workspace, periodOf(since, until))
    const style = await readFile(new URL('./report.css', import.meta.url), 'utf8')
    await replaceFile(out, reportPage(report, style, now).html).catch((error: unknown) => {
      throw cannotWrite(out, error)
    })
    print(`${values['out']}: ${report.now.feedback} feedback, ${report.topics.length} topics`)
  },
})
