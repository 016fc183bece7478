import process from 'node:process'
import { print, runCommand } from './run-command.ts'
import { migrate, readMigrations } from '../db/schema/migrate.ts'
import { readSettings } from '../runtime/settings.ts'

await runCommand({
  usage: 'usage: npm run migrate\nMigrates the database at DATABASE_URL to this version. The command can be repeated.',
  run: async ({ sql }) => {
    const { CITUS_SHARDS: shards } = readSettings(['CITUS_SHARDS'], process.env)
    const applied = await migrate(sql, await readMigrations(), { shards })
    if (applied.length === 0) print('The database is up to date.')
    for (const name of applied) print(`applied ${name}`)
  },
})
