import process from 'node:process'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import * as v from 'valibot'
import { purgeRequest } from '../contract/purge-request.ts'
import { DEFAULT_WORKSPACE } from '../db/workspaces/workspaces.ts'
import { exportContacts } from './contact-export.ts'
import { findWorkspace } from './option-values.ts'
import { CommandError, runCommand } from './run-command.ts'

const USAGE = `usage: npm run --silent contact:export -- [--id ID] [--email EMAIL] [--source SOURCE] [--workspace NAME]

Writes all data about a contact to stdout, as one JSON document. The command finds the contact like a purge: by external
id in SOURCE or in all sources, by email, or both. A placeholder such as undefined is no ID, and EMAIL
must be an address.
Without --workspace it searches ${DEFAULT_WORKSPACE}.
Without --silent npm writes lines of its own before the document.
Exit code 0: the document is written. 1: the service holds no data about the contact, or the command failed.`

await runCommand({
  usage: USAGE,
  options: ['id', 'email', 'source', 'workspace'],
  run: async ({ sql, values, readHashKey, openRedis }) => {
    const wanted = v.safeParse(purgeRequest, values)
    if (!wanted.success) throw new CommandError(USAGE)
    const hashKey = await readHashKey()
    const workspace = await findWorkspace(sql, values['workspace'] ?? DEFAULT_WORKSPACE)
    const stores = { sql, ...(await openRedis()), hashKey }
    const pieces = await exportContacts(stores, { workspace, wanted: wanted.output, at: new Date() })
    if (!pieces)
      throw new CommandError(
        'The service holds no data about this contact in this workspace. Check --id, --email, --source and --workspace.',
      )
    // Waits for the reader of stdout, so that no output piles up in memory.
    await pipeline(Readable.from(pieces), process.stdout, { end: false })
  },
})
