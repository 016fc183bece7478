import { readFile, writeFile } from 'node:fs/promises'
import { DEFAULT_WORKSPACE } from '../../db/workspaces/workspaces.ts'
import { cannotWrite, dateOf, endDateOf, findWorkspace } from '../option-values.ts'
import { CommandError, pathOfCaller, print, runCommand } from '../run-command.ts'
import { writeWhole } from '../write-whole.ts'
import { readReport } from './read-report.ts'
import { periodOf } from './report.ts'
import { reportPage } from './report-page.ts'

const USAGE = `usage: npm run report -- --out FILE [--since DATE] [--until DATE] [--workspace NAME]

Writes a page about the feedback of one workspace: topics, changes and accounts, with charts and examples.
The page is one HTML file that loads no other files. FILE is relative to the current folder.
Only its owner may read it. It has names and texts of customers, and a later purge does not reach it: delete it after use.
The role of \`npm run reader\` is enough: put the address of that role into DATABASE_URL.
DATE is a day in UTC (2026-01-31) or a date-time; the day of --until is included. By default the report covers the last
13 weeks, up to now, of the workspace ${DEFAULT_WORKSPACE}.`

const DEFAULT_MS = 13 * 7 * 86_400_000
/** In a longer report, the charts would have too many columns: one for each month. */
const MOST_YEARS = 100
const MOST_MS = MOST_YEARS * 366 * 86_400_000

await runCommand({
  usage: USAGE,
  isReadOnly: true,
  options: ['out', 'since', 'until', 'workspace'],
  run: async ({ sql, values }) => {
    if (!values['out']) throw new CommandError(USAGE)
    const now = new Date()
    const until = endDateOf('until', values['until']) ?? now
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
    const page = reportPage(report, style, now).html
    await writeWhole(out, (draft) => writeFile(draft, page)).catch((error: unknown) => {
      throw error instanceof CommandError ? error : cannotWrite(out, error)
    })
    print(`${values['out']}: ${report.now.feedback} feedback, ${report.topics.length} topics`)
  },
})
