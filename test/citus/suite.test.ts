import process from 'node:process'
import { it } from 'node:test'
import { turnToCitus } from '../support/citus.ts'

/** Test files of tables and functions that also hold where the tables are distributed. */
const FILES = [
  'db/columns',
  'db/feedback-sums',
  'db/counts',
  'db/lists',
  'db/search',
  'db/change-positions',
  'db/convergence',
  'db/dying-connections',
  'db/bootstrap-tokens',
  'db/purges/decide-purge',
  'db/purges/purge',
  'db/purges/purge-replay',
  'db/submissions/dead',
  'db/submissions/expire-receipts',
  'db/submissions/idempotency-keys',
  'db/tags/tag-memory',
  'db/workspaces/delete-workspace',
  'cli/doctor/check-times',
  'cli/retag/retag',
  'api/resolve-references',
  'worker/apply/apply-strides',
  'worker/maintenance',
  'worker/remove-purged',
  'worker/meaning/find-meaning',
  'worker/meaning/forgotten-meaning',
  'worker/webhooks/deliver',
]
/** A history takes a second or more. */
const HISTORIES = '5'

const reason = await turnToCitus()
if (reason === undefined) {
  process.env['CONVERGENCE_HISTORIES'] ??= HISTORIES
  process.env['FAULT_HISTORIES'] ??= HISTORIES
  for (const file of FILES) await import(`../${file}.test.ts`)
} else {
  it(`tables and functions work on Citus: not tested, since ${reason}`, { skip: true }, () => {})
}
