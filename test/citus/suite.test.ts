import process from 'node:process'
import { it } from 'node:test'
import { turnToCitus } from '../support/citus.ts'

/** Test files that also hold where the tables are distributed. */
const FILES = [
  'db/schema/migrate',
  'db/columns',
  'db/lists',
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
  'worker/webhooks/deliver',
]
/** A history takes about a second. */
const HISTORIES = '5'

const reason = await turnToCitus()
if (reason === undefined) {
  process.env['CONVERGENCE_HISTORIES'] ??= HISTORIES
  const only = process.env['TEST_CITUS_FILES']?.split(',')
  for (const file of only ?? FILES) await import(`../${file}.test.ts`)
} else {
  it(`the tests of the tables hold on Citus: not tested, since ${reason}`, { skip: true }, () => {})
}
