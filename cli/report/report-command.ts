import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import process from 'node:process'
import { DEFAULT_WORKSPACE } from '../../db/workspaces/workspaces.ts'
import { describeFault } from '../../runtime/fault.ts'
import { dateOf } from '../date-option.ts'
import { NO_SUCH_WORKSPACE } from '../find-workspace.ts'
import { CommandError, pathOfCaller, runCommand } from '../run-command.ts'
import { readReport } from './read-report.ts'
import { periodOf } from './report.ts'
import { reportPage } from './report-page.ts'

const USAGE = `usage: npm run report -- --out FILE [--since DATE] [--until DATE] [--workspace NAME]

Writes a page about the feedback of one workspace: what is said, how it changes, and who says it, with charts and examples.
It is one HTML file, which loads nothing. FILE is relative to the folder in which you are.
It reads what the role of \`npm run reader\` may read: with that role in DATABASE_URL, too.
DATE is a day in UTC (2026-01-31) or a date-time. Without --since it is about the last 13 weeks, without --until it goes up to
now, without --workspace it is about ${DEFAULT_WORKSPACE}.`

const DEFAULT_MS = 13 * 7 * 86_400_000
/** A chart has a bar for each month. */
const MOST_YEARS = 100
const MOST_MS = MOST_YEARS * 366 * 86_400_000
/** It has names and texts of customers. */
const OWNER_ONLY = 0o600

/** A new file takes the place of an old one, which could be a link or readable by others. */
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
  isReader: true,
  options: {
    out: { type: 'string' },
    since: { type: 'string' },
    until: { type: 'string' },
    workspace: { type: 'string' },
  },
  run: async ({ sql, words, values }) => {
    if (words.length > 0 || !values['out']) throw new CommandError(USAGE)
    const now = new Date()
    const until = dateOf('until', values['until']) ?? now
    const since = dateOf('since', values['since']) ?? new Date(until.getTime() - DEFAULT_MS)
    if (since >= until) throw new CommandError('--since has to be before --until.')
    if (until.getTime() - since.getTime() > MOST_MS) {
      throw new CommandError(
        `A report is about at most ${MOST_YEARS} years: name a later --since, or an earlier --until.`,
      )
    }
    // npm runs this in the folder of the repository, and says in which one it was called.
    const out = pathOfCaller(values['out'])
    const name = values['workspace'] ?? DEFAULT_WORKSPACE
    const [workspace] = await sql<{ id: string; name: string }[]>`select id, name from workspace where name = ${name}`
    if (workspace === undefined) throw new CommandError(NO_SUCH_WORKSPACE)
    const report = await readReport(sql, workspace, periodOf(since, until))
    const style = await readFile(new URL('./report.css', import.meta.url), 'utf8')
    await replaceFile(out, reportPage(report, style, now).html).catch((error: unknown) => {
      throw new CommandError(`${out} cannot be written (${describeFault(error)}).`)
    })
    process.stdout.write(`${values['out']}: ${report.now.feedback} feedback, ${report.topics.length} topics\n`)
  },
})
