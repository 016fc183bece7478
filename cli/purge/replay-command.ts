import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { type Fence, parseFence, raiseFences } from '../../db/purges/fences.ts'
import type { Sql } from '../../db/postgres.ts'
import { tagShortened } from '../../db/tags/tag-shortened.ts'
import { listWorkspaces } from '../../db/workspaces.ts'
import { enqueueTagging } from '../../queue/job-queues.ts'
import { CommandError, print, runCommand } from '../run-command.ts'

const USAGE = `usage: npm run purge:replay -- fences.ndjson

After a backup was restored: repeats the purges that it does not know, from what purge:export has written since. Run it
after \`npm run migrate\` and before API and workers start. Conversations that lose messages are queued to be tagged anew by
the workers. Running it twice changes nothing.`

const FENCES_AT_ONCE = 10_000

const raiseAll = async (sql: Sql, file: string): Promise<void> => {
  let read = 0
  let contacts = 0
  // The fences of one purge have the same number, and one call raises all of them.
  let together: Fence[] = []
  for await (const fence of fencesIn(file)) {
    if (together.length >= FENCES_AT_ONCE && together.at(-1)!.number !== fence.number) {
      contacts += await raiseFences(sql, together)
      together = []
    }
    together.push(fence)
    read++
  }
  contacts += await raiseFences(sql, together)
  print(`${read} fences read, ${contacts} contacts purged again.`)
}

const fencesIn = async function* (file: string): AsyncGenerator<Fence> {
  const input = createReadStream(file)
  // The reader of lines does not pass on the stream's error about a file that does not exist.
  await new Promise<void>((resolve, reject) => {
    input.once('open', () => resolve())
    input.once('error', () => reject(new CommandError(`${file} cannot be read.`)))
  })
  let line = 0
  for await (const text of createInterface({ input })) {
    line++
    if (text.trim() === '') continue
    try {
      yield parseFence(text)
    } catch {
      throw new CommandError(`Line ${line} of ${file} is no fence of purge:export.`)
    }
  }
}

await runCommand({
  usage: USAGE,
  options: {},
  run: async ({ sql, words: [file], openQueues }) => {
    if (file === undefined) throw new CommandError(USAGE)
    await raiseAll(sql, file)
    const { queues } = await openQueues()
    let shortened = 0
    for (const { id: workspaceId } of await listWorkspaces(sql)) {
      shortened += await tagShortened(sql, { workspaceId, number: 0 }, (jobs) => enqueueTagging(queues, jobs))
    }
    print(`${shortened} conversations wait to be tagged anew.`)
  },
})
