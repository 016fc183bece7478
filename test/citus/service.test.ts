import { it } from 'node:test'
import { turnToCitus } from '../support/citus.ts'

/** Test files that use a whole service, and most of the commands. */
const FILES = [
  'agents',
  'answers',
  'batch',
  'contact-export',
  'dead',
  'doctor',
  'export',
  'idempotency',
  'interface',
  'lists',
  'purge-verify',
  'reads',
  'report',
  'same',
  'webhooks',
  'workspaces',
]

const reason = await turnToCitus()
if (reason === undefined) for (const file of FILES) await import(`../end-to-end/${file}.test.ts`)
else it(`a service works on Citus: not tested, since ${reason}`, { skip: true }, () => {})
