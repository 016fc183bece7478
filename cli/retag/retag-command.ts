import process from 'node:process'
import { TAGGER_VERSION } from '../../contract/jobs.ts'
import { countRetag } from '../../db/tags/retag.ts'
import { dateOf, endDateOf, findWorkspace } from '../option-values.ts'
import { startProgressBar } from '../progress-bar.ts'
import { CommandError, print, runCommand } from '../run-command.ts'
import { retag } from './retag.ts'

const USAGE = `usage: npm run retag -- [--workspace NAME] [--source S] [--since DATE] [--until DATE] [--all-versions]

Makes the workers generate the tags of feedback and conversations again. By default the command leaves out the records
that this version of the tagger has tagged. --all-versions includes them. Submitted tags never change.
--since and --until bound the time of acceptance. DATE is a day in UTC (2026-01-31) or a date-time. The day of --until
is included.
Without --workspace, records of all workspaces are tagged. You can stop this command and run it again.`

await runCommand({
  usage: USAGE,
  options: ['workspace', 'source', 'since', 'until'],
  flags: ['all-versions'],
  run: async ({ sql, values, hasFlag, openQueues }) => {
    const name = values['workspace']
    const wanted = {
      workspaceId: name === undefined ? undefined : (await findWorkspace(sql, name)).id,
      source: values['source'],
      since: dateOf('since', values['since']),
      until: endDateOf('until', values['until']),
      olderThanVersion: hasFlag('all-versions') ? undefined : TAGGER_VERSION,
    }
    const { feedback, conversation } = await countRetag(sql, wanted)
    const { queues } = await openQueues()
    const bar = startProgressBar({
      label: 'Tagging again',
      total: feedback + conversation,
      output: process.stdout,
      now: Date.now,
    })
    if ((await queues.tagging.getWorkersCount()) === 0) bar.note('waits for a worker: npm run worker')
    const { tagged, failed } = await retag({ sql, queues }, wanted, bar.set)
    bar.end()
    print(`checked: ${feedback} feedback, ${conversation} conversations`)
    print(`tagged by version ${TAGGER_VERSION}: ${tagged}`)
    if (failed > 0)
      throw new CommandError(
        `records in failed jobs: ${failed}. /admin/queues of the API shows these jobs, in the queue tagging, and their reasons.`,
      )
  },
})
