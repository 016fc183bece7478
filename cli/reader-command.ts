import process from 'node:process'
import { canMakeLargeObjects, createReader, dropReader } from '../db/schema/readers.ts'
import { codeOf } from '../runtime/fault.ts'
import { CommandError, print, runCommand } from './run-command.ts'

const USAGE = `usage: npm run reader -- create NAME
       npm run reader -- drop NAME

create  makes a database role that can read only the tables of docs/queries.md; prints its password once
drop    removes the role
NAME is in lower case. The user of DATABASE_URL has to have the right to create roles.`

const LARGE_OBJECTS =
  'It can also fill the disk with large objects, as every role can: docs/queries.md says how a superuser ends that.\n'

/** A handler that throws the message instead of an error with this SQLSTATE. */
const explainCode =
  (code: string, message: string) =>
  (error: unknown): never => {
    throw codeOf(error) === code ? new CommandError(message) : error
  }

const NAME = /^[a-z_][a-z0-9_]{0,62}$/

const nameOf = (word: string | undefined): string => {
  if (word === undefined || !NAME.test(word)) throw new CommandError(USAGE)
  return word
}

await runCommand({
  usage: USAGE,
  run: {
    create: async ({ sql }, word) => {
      const name = nameOf(word)
      const password = await createReader(sql, name).catch(
        explainCode('42710', `The role ${name} exists already. Choose another name.`),
      )
      process.stderr.write(`password of ${name}, shown this once:\n`)
      print(password)
      if (await canMakeLargeObjects(sql, name)) process.stderr.write(LARGE_OBJECTS)
    },
    drop: async ({ sql }, word) => {
      const name = nameOf(word)
      await dropReader(sql, name).catch(explainCode('42704', `There is no role ${name}. Check the name.`))
      print('dropped')
    },
  },
})
