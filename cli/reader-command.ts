import process from 'node:process'
import { canMakeLargeObjects, createReader, dropReader } from '../db/schema/readers.ts'
import { codeOf } from '../runtime/fault.ts'
import { withLogin } from '../runtime/postgres-address.ts'
import { CommandError, print, runCommand } from './run-command.ts'

const USAGE = `usage: npm run reader -- create NAME
       npm run reader -- drop NAME

create  makes a database role that can read only the tables of docs/queries.md; prints its address once, to paste into
        psql or another client
drop    removes the role
NAME has at most 63 lower-case letters, digits and underscores, and does not begin with a digit. The user of DATABASE_URL
has to have the right to create roles.`

const LARGE_OBJECTS =
  'The role can also fill the disk with large objects. docs/queries.md says how a superuser prevents that.\n'

const DUPLICATE_OBJECT = '42710'

const NAME = /^[a-z_][a-z0-9_]{0,62}$/

const nameOf = (word: string | undefined): string => {
  if (word === undefined || !NAME.test(word)) throw new CommandError(USAGE)
  return word
}

await runCommand({
  usage: USAGE,
  run: {
    create: async ({ sql, databaseUrl }, word) => {
      const name = nameOf(word)
      const password = await createReader(sql, name).catch((error: unknown) => {
        if (codeOf(error) !== DUPLICATE_OBJECT) throw error
        throw new CommandError(`The role ${name} exists already. Choose another name.`)
      })
      process.stderr.write(`address of ${name}, with its password, shown this once:\n`)
      print(withLogin(databaseUrl, name, password))
      if (await canMakeLargeObjects(sql, name)) process.stderr.write(LARGE_OBJECTS)
    },
    drop: async ({ sql }, word) => {
      const name = nameOf(word)
      switch (await dropReader(sql, name)) {
        case 'dropped':
          return print('dropped')
        case 'unknown':
          throw new CommandError(`There is no role ${name}. Check the name.`)
        case 'owner':
          throw new CommandError(
            `The role ${name} owns objects such as tables, and they would be dropped with it. Check the name.`,
          )
      }
    },
  },
})
