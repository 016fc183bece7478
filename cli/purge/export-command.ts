import process from 'node:process'
import { readPurgedKeys } from '../../db/purges/purged-keys.ts'
import { print, runCommand } from '../run-command.ts'

const USAGE = `usage: npm run --silent purge:export > purged-keys.ndjson

Writes a line for each key that a purge has ended: its keyed hash, how often it was purged, and an acceptance number. A line
tells nothing about the person. Keep the file beside your backups, newer than they are. After a backup was restored,
purge:replay repeats from the file the purges that the backup does not know.`

await runCommand({
  usage: USAGE,
  options: {},
  run: async ({ sql }) => {
    let count = 0
    for await (const key of readPurgedKeys(sql)) {
      print(JSON.stringify(key))
      count++
    }
    process.stderr.write(`${count} purged keys written.\n`)
  },
})
