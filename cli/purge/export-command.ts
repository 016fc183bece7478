import process from 'node:process'
import { readFences } from '../../db/purges/fences.ts'
import { print, runCommand } from '../run-command.ts'

const USAGE = `usage: npm run --silent purge:export > fences.ndjson

Writes what purges have left, a line for each key that one ended: keyed hashes and acceptance numbers, nothing of whom they
concerned. Keep it beside your backups, newer than they are: after one was restored, purge:replay repeats from it the purges
that the backup does not know.`

await runCommand({
  usage: USAGE,
  options: {},
  run: async ({ sql }) => {
    let count = 0
    for await (const fence of readFences(sql)) {
      print(JSON.stringify(fence))
      count++
    }
    process.stderr.write(`${count} fences written.\n`)
  },
})
