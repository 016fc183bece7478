import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { parsePurgedKey, type PurgedKey, raisePurgedKeys } from '../../db/purges/purged-keys.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { tagShortened } from '../../db/tags/tag-shortened.ts'
import { listWorkspaces } from '../../db/workspaces/workspaces.ts'
import { enqueueTagging } from '../../queue/jobs/job-queues.ts'
import { CommandError, print, runCommand } from '../run-command.ts'

const USAGE = `usage: npm run purge:replay -- purged-keys.ndjson

After a backup was restored: repeats the purges that it does not know, from a later file of purge:export. Run it after
\`npm run migrate\`, before API and workers start. Workers tag conversations again that lose messages.
Running it twice changes nothing.`

const KEYS_AT_ONCE = 10_000

const raiseAll = async (sql: Sql, file: string): Promise<void> => {
  let read = 0
  let contacts = 0
  // All keys of one purge have the same number, and one call raises them together.
  let together: PurgedKey[] = []
  for await (const key of keysIn(file)) {
    if (together.length >= KEYS_AT_ONCE && together.at(-1)!.number !== key.number) {
      contacts += await raisePurgedKeys(sql, together)
      together = []
    }
    together.push(key)
    read++
  }
  contacts += await raisePurgedKeys(sql, together)
  print(`${read} purged keys read, ${contacts} contacts purged again.`)
}

const keysIn = async function* (file: string): AsyncGenerator<PurgedKey> {
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
      yield parsePurgedKey(text)
    } catch {
      throw new CommandError(`Line ${line} of ${file} is no purged key of purge:export.`)
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
    print(`${shortened} conversations wait to be tagged again.`)
  },
})
