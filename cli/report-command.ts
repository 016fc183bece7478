import { readFile, writeFile } from 'node:fs/promises'
import { DEFAULT_WORKSPACE } from '../db/workspaces/workspaces.ts'
import { cannotWrite, dateOf, endDateOf, findWorkspace } from './option-values.ts'
import { CommandError, pathOfCaller, print, runCommand } from './run-command.ts'
import { writeWhole } from './write-whole.ts'
import { createReads } from '../insights/reads.ts'
import { makeReport } from '../insights/report.ts'

const USAGE = `usage: npm run report -- --out FILE [--since DATE] [--until DATE] [--workspace NAME]

Writes the pages of /insights about one workspace into one file: changes, themes, accounts and sources, with charts and
examples. The file is HTML, and loads no other files. FILE is relative to the current folder.
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
    const style = await readFile(new URL('../insights/insights.css', import.meta.url), 'utf8')
    const span = { createdFrom: since.toISOString(), createdTo: until.toISOString() }
    const reads = createReads(sql, { workspaceId: workspace.id })
    const { file, feedback } = await makeReport(reads, { workspace: workspace.name, span, now, style })
    await writeWhole(out, (draft) => writeFile(draft, file.html)).catch((error: unknown) => {
      throw error instanceof CommandError ? error : cannotWrite(out, error)
    })
    print(`${values['out']}: ${feedback} feedback`)
  },
})
