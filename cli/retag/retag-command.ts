import process from 'node:process'
import { TAGGER_VERSION } from '../../contract/tagger-version.ts'
import { countRetag } from '../../db/tags/retag.ts'
import { dateOf } from '../date-option.ts'
import { findWorkspace } from '../find-workspace.ts'
import { startProgressBar } from '../progress-bar.ts'
import { CommandError, print, runCommand } from '../run-command.ts'
import { retag } from './retag.ts'

const USAGE = `usage: npm run retag -- [--workspace NAME] [--source S] [--since DATE] [--until DATE] [--all-versions]

Has the workers tag feedback and conversations with generated tags again: by default the records that an older version of
the tagger read, with --all-versions all of them. Tags that people gave are never touched.
--since and --until bound the time of acceptance; DATE is a day in UTC (2026-01-31) or a date-time.
You can stop it and run it again.`

await runCommand({
  usage: USAGE,
  options: {
    workspace: { type: 'string' },
    source: { type: 'string' },
    since: { type: 'string' },
    until: { type: 'string' },
    'all-versions': { type: 'boolean' },
  },
  run: async ({ sql, words, values, openQueues }) => {
    if (words.length > 0) throw new CommandError(USAGE)
    const name = values['workspace']
    const wanted = {
      workspaceId: name === undefined ? undefined : (await findWorkspace(sql, name)).id,
      source: values['source'],
      since: dateOf('since', values['since']),
      until: dateOf('until', values['until']),
      olderThanVersion: values['all-versions'] ? undefined : TAGGER_VERSION,
    }
    const { feedback, conversation } = await countRetag(sql, wanted)
    const { queues } = await openQueues()
    const bar = startProgressBar({
      label: 'Tagging again',
      total: feedback + conversation,
      output: process.stdout,
      now: Date.now,
    })
    if ((await queues.tagging.getWorkersCount()) === 0) bar.note('waits for a worker to run')
    const { done, kept, failed, workspaces } = await retag({ sql, queues }, wanted, bar.set)
    bar.end()
    print(`looked at: ${feedback} feedback, ${conversation} conversations, in ${workspaces} workspaces`)
    print(`tagged by version ${TAGGER_VERSION}: ${kept}`)
    print(`replaced, removed or tagged meanwhile: ${done - kept - failed}`)
    if (failed > 0) throw new CommandError(`failed: ${failed}. The dashboard of the queues shows these jobs.`)
  },
})
