import { parsePurgedKey, type PurgedKey, raisePurgedKeys } from '../../db/purges/purge-replay.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { findShortened } from '../../db/tags/retag.ts'
import { listWorkspaces } from '../../db/workspaces/workspaces.ts'
import { describeFault } from '../../runtime/fault.ts'
import { addConversationTagging } from '../../queue/jobs/job-queues.ts'
import { readLines } from '../read-lines.ts'
import { CommandError, pathOfCaller, print, runCommand } from '../run-command.ts'

const USAGE = `usage: npm run purge:replay -- purged-keys.ndjson

Repeats the purges that a restored backup lacks, from a file that purge:export wrote after the backup. Run this command
after \`npm run migrate\` and before you start API and workers. Workers generate new tags for conversations that lose
messages. The command can be repeated.`

const KEYS_AT_ONCE = 10_000

const raiseAll = async (sql: Sql, file: string): Promise<void> => {
  let read = 0
  let contacts = 0
  // A file is in the order of the numbers. One call must have all keys with the same number, since
  // they may belong to one purge.
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
  let line = 0
  for await (const text of linesIn(file)) {
    line++
    if (text.trim() === '') continue
    try {
      yield parsePurgedKey(text)
    } catch {
      throw new CommandError(
        `Line ${line} of ${file} is not a line of purge:export. Remove the lines that npm has printed, or name an intact file.`,
      )
    }
  }
}

const linesIn = async function* (file: string): AsyncGenerator<string> {
  try {
    yield* readLines(file)
  } catch (error) {
    throw new CommandError(
      `${file} cannot be read (${describeFault(error)}). Name a file that purge:export has written.`,
    )
  }
}

await runCommand({
  usage: USAGE,
  takesWord: true,
  run: async ({ sql, openQueues }, file) => {
    if (file === undefined) throw new CommandError(USAGE)
    await raiseAll(sql, pathOfCaller(file))
    const { queues } = await openQueues()
    let shortened = 0
    for (const { id: workspaceId } of await listWorkspaces(sql)) {
      const ids = await findShortened(sql, { workspaceId, number: 0 })
      await addConversationTagging(queues, workspaceId, ids)
      shortened += ids.length
    }
    print(`${shortened} conversations wait for new tags.`)
  },
})
