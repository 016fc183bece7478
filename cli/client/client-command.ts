import process from 'node:process'
import { parseArgs } from 'node:util'
import { pathOfCaller } from '../../runtime/path-of-caller.ts'
import { makePackage, writeTypes } from './make-package.ts'

const USAGE = `usage: npm run client [-- --out DIR]
Makes a package of the client for TypeScript and JavaScript: types and calls of all operations, without dependencies.
Writes feedback-insights-client-VERSION.tgz into DIR, by default the current folder. Install that file in your program with
npm or bun. The command first writes client/types.ts of this repository again, from api/openapi/openapi.json.`

try {
  const { values } = parseArgs({ options: { help: { type: 'boolean', short: 'h' }, out: { type: 'string' } } })
  if (values.help === true) console.log(USAGE)
  else {
    await writeTypes()
    console.log(await makePackage(pathOfCaller(values.out ?? '.', process.env)))
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
