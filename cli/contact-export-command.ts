import process from 'node:process'
import * as v from 'valibot'
import { exportContacts } from './contact-export.ts'
import { hashKeyFrom } from '../contract/identity/own-id.ts'
import { purgeRequest } from '../contract/purge-request.ts'
import { isMadeWith } from '../db/installation.ts'
import { CommandError, runCommand } from './run-command.ts'
import { DEFAULT_WORKSPACE, listWorkspaces } from '../db/workspaces.ts'

const USAGE = `usage: npm run --silent contact:export -- [--id ID] [--email EMAIL] [--source SOURCE] [--workspace NAME]

Writes all that is held about a contact to stdout, as one JSON document. The contact is found as a purge finds it: by
external id in SOURCE or in all sources, by email, or both. Without --workspace it is looked for in ${DEFAULT_WORKSPACE}.
Ends with 1 when nothing is held. Without --silent npm writes lines of its own before it.`

const CHARACTERS_AT_ONCE = 64 * 1024

/** Waits for whoever reads it, so that nothing piles up here, and nothing is lost when the process ends. */
const writeOut = async (pieces: AsyncIterable<string>): Promise<void> => {
  const write = (text: string): Promise<void> =>
    new Promise((resolve, reject) => process.stdout.write(text, (error) => (error ? reject(error) : resolve())))
  let waiting = ''
  for await (const piece of pieces) {
    waiting += piece
    if (waiting.length < CHARACTERS_AT_ONCE) continue
    await write(waiting)
    waiting = ''
  }
  await write(waiting)
}

await runCommand({
  usage: USAGE,
  options: {
    id: { type: 'string' },
    email: { type: 'string' },
    source: { type: 'string' },
    workspace: { type: 'string' },
  },
  run: async ({ sql, words, values, read, openRedis }) => {
    const wanted = v.safeParse(purgeRequest, values)
    if (words.length > 0 || !wanted.success) throw new CommandError(USAGE)
    const hashKey = hashKeyFrom(read(['HASH_KEY']).HASH_KEY)
    if (!(await isMadeWith(sql, hashKey))) {
      throw new CommandError('HASH_KEY is not the one that this database was made with.')
    }
    const name = values['workspace'] ?? DEFAULT_WORKSPACE
    const workspace = (await listWorkspaces(sql)).find((one) => one.name === name)
    if (!workspace) throw new CommandError('There is no workspace of this name. See: npm run workspace -- list')
    const { redis, prefix } = await openRedis()
    const stores = { sql, redis, prefix, hashKey }
    const pieces = await exportContacts(stores, { workspace, wanted: wanted.output, at: new Date() })
    if (!pieces) throw new CommandError('Nothing is held about such a contact in this workspace.')
    await writeOut(pieces)
    redis.disconnect()
  },
})
