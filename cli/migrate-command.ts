import process from 'node:process'
import { CommandError, runCommand } from './run-command.ts'
import { migrate, readMigrations } from '../db/migrate.ts'

await runCommand({
  usage: 'usage: npm run migrate\nBrings the database at DATABASE_URL up to this version. Harmless to repeat.',
  options: {},
  run: async ({ sql, read }) => {
    if (read(['DATABASE_POOLER']).DATABASE_POOLER === 'transaction') {
      throw new CommandError(
        'Migrations hold a lock of their session: set DATABASE_URL to Postgres itself, and unset DATABASE_POOLER.',
      )
    }
    const applied = await migrate(sql, await readMigrations())
    process.stdout.write(
      applied.length === 0 ? 'The database is up to date.\n' : applied.map((name) => `applied ${name}\n`).join(''),
    )
  },
})
