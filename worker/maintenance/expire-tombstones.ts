import { expireTombstones } from '../../db/reads/expire-tombstones.ts'
import type { Service } from './service.ts'

/** Removes tombstones that are too old. A reader that has not seen them has to begin anew. */
export const expireOldTombstones: Service = {
  name: 'expire-tombstones',
  everyMs: 60_000,
  run: async ({ sql, tombstoneDays }) => ({ tombstonesExpired: await expireTombstones(sql, tombstoneDays) }),
}
