import type { HashKey } from '../../contract/identity/keys.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import {
  countUnpurged,
  parsePurgedKey,
  purgeDeadAgain,
  type PurgedKey,
  raisePurgedKeys,
} from '../../db/purges/purge-replay.ts'
import { findShortened } from '../../db/tags/retag.ts'
import { listWorkspaces } from '../../db/workspaces/workspaces.ts'
import { addConversationTagging, type JobQueues } from '../../queue/jobs/job-queues.ts'
import { describeFault } from '../../runtime/fault.ts'
import { readLines } from '../read-lines.ts'
import { CommandError } from '../run-command.ts'

const KEYS_AT_ONCE = 10_000

type ReplayCounts = { keys: number; contacts: number }

/**
 * Repeats the purges of a file of `purge:export` that the database lacks, and verifies them.
 *
 * @throws CommandError when a line is not of `purge:export`, or when a purged contact is left
 */
export const replayPurges = async (
  { sql, hashKey }: { sql: Sql; hashKey: HashKey },
  file: string,
): Promise<ReplayCounts> => {
  const counts: ReplayCounts = { keys: 0, contacts: 0 }
  const replay = async (keys: readonly PurgedKey[]): Promise<void> => {
    counts.keys += keys.length
    counts.contacts += await raisePurgedKeys(sql, keys)
    await purgeDeadAgain(sql, hashKey, keys)
    const left = await countUnpurged(sql, keys)
    if (left > 0)
      throw new CommandError(
        `${left} purged contacts or keys are left. This is a fault of the service: report it, and purge these contacts again.`,
      )
  }
  // A file is in the order of the numbers. One call must have all keys with the same number, since
  // they may belong to one purge.
  let together: PurgedKey[] = []
  for await (const key of keysIn(file)) {
    if (together.length >= KEYS_AT_ONCE && together.at(-1)!.number !== key.number) {
      await replay(together)
      together = []
    }
    together.push(key)
  }
  await replay(together)
  return counts
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

/** Lets workers tag the conversations that have lost messages to purges. Returns their number. */
export const tagShortened = async (sql: Sql, queues: JobQueues): Promise<number> => {
  let shortened = 0
  for (const { id: workspaceId } of await listWorkspaces(sql)) {
    const ids = await findShortened(sql, { workspaceId, number: 0 })
    await addConversationTagging(queues, workspaceId, ids)
    shortened += ids.length
  }
  return shortened
}
