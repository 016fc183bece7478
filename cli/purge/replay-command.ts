import { CommandError, pathOfCaller, print, runCommand } from '../run-command.ts'
import { replayPurges, tagShortened } from './replay-purges.ts'

const USAGE = `usage: npm run purge:replay -- purged-keys.ndjson

Repeats the purges that a restored backup lacks, from a file that purge:export wrote after the backup. Run this command
after \`npm run migrate\` and before you start API and workers. Workers generate new tags for conversations that lose
messages. The command can be repeated.`

await runCommand({
  usage: USAGE,
  takesWord: true,
  run: async ({ sql, readHashKey, openQueues }, file) => {
    if (file === undefined) throw new CommandError(USAGE)
    const { keys, contacts } = await replayPurges({ sql, hashKey: await readHashKey() }, pathOfCaller(file))
    print(`${keys} purged keys read, ${contacts} contacts purged again.`)
    const { queues } = await openQueues()
    print(`${await tagShortened(sql, queues)} conversations wait for new tags.`)
  },
})
