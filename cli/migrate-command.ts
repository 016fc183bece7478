import process from 'node:process'
import { runCommand } from './run-command.ts'
import { migrate, readMigrations } from '../db/schema/migrate.ts'

await runCommand({
  usage: 'usage: npm run migrate\nMigrates the database at DATABASE_URL to this version. The command can be repeated.',
  run: async ({ sql }) => {
    const applied = await migrate(sql, await readMigrations())
    process.stdout.write(
      applied.length === 0 ? 'The database is up to date.\n' : applied.map((name) => `applied ${name}\n`).join(''),
    )
  },
})
