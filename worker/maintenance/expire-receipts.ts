import { expireReceipts } from '../../db/submissions/expire-receipts.ts'
import type { Service } from './service.ts'

/** Removes expired receipts with their idempotency keys. */
export const expireOldReceipts: Service = {
  name: 'expire-receipts',
  everyMs: 20_000,
  run: async ({ sql, receiptDays }) => ({ receiptsExpired: await expireReceipts(sql, receiptDays) }),
}
