import { expireTombstones } from '../../db/reads/expire-tombstones.ts'
import type { Service } from './service.ts'

/** Removes expired tombstones. A reader that has not seen them has to start again. */
export const expireOldTombstones: Service = {
  name: 'expire-tombstones',
  everyMs: 60_000,
  run: async ({ sql, tombstoneDays }) => ({ tombstonesExpired: await expireTombstones(sql, tombstoneDays) }),
}
