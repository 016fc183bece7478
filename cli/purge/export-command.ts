import process from 'node:process'
import { readPurgedKeys } from '../../db/purges/purge-replay.ts'
import { print, runCommand } from '../run-command.ts'

const USAGE = `usage: npm run --silent purge:export > purged-keys.ndjson

Writes a line for each purged key: its workspace, its keyed hash, how often it was purged, and the acceptance number of
its last purge. A line has no personal data. Store the file with your backups, and write it often: it has to be newer
than the backup that you restore. After the restore, purge:replay reads the file and repeats the purges that the backup lacks.`

await runCommand({
  usage: USAGE,
  run: async ({ sql }) => {
    let count = 0
    for await (const key of readPurgedKeys(sql)) {
      print(JSON.stringify(key))
      count++
    }
    process.stderr.write(`${count} purged keys written.\n`)
  },
})
