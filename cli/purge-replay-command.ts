import { createReadStream } from 'node:fs'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { type Fence, parseFence, raiseFences } from '../db/purges/fences.ts'
import { closeQueues, enqueueTagging, openQueues } from '../queue/job-queues.ts'
import { CommandError, runCommand } from './run-command.ts'
import { tagShortened } from '../db/tags/tag-shortened.ts'
import { listWorkspaces } from '../db/workspaces.ts'

const USAGE = `usage: npm run purge:replay -- fences.ndjson

After a backup was restored: repeats the purges that it does not know, from what purge:export has written since. Run it
after \`npm run migrate\` and before API and workers start. Conversations that lose messages are queued to be tagged anew by
the workers. Running it twice changes nothing.`
const FENCES_AT_ONCE = 10_000

await runCommand({
  usage: USAGE,
  options: {},
  run: async ({ sql, words: [file], openRedis }) => {
    if (file === undefined) throw new CommandError(USAGE)
    let read = 0
    let contacts = 0
    // A purge's fences have one number, and stay together.
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
    process.stdout.write(`${read} fences read, ${contacts} contacts purged again.\n`)
    const { redis, prefix } = await openRedis()
    const queues = openQueues(redis, prefix, () => {})
    let shortened = 0
    for (const { id: workspaceId } of await listWorkspaces(sql)) {
      shortened += await tagShortened(sql, { workspaceId, number: 0 }, (jobs) => enqueueTagging(queues, jobs))
    }
    await closeQueues(queues)
    redis.disconnect()
    process.stdout.write(`${shortened} conversations wait to be tagged anew.\n`)
  },
})

const fencesIn = async function* (file: string): AsyncGenerator<Fence> {
  const input = createReadStream(file)
  // A file that is not there is told by the stream, which the reader of lines does not pass on.
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
