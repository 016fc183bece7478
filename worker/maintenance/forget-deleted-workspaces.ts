import { TOKEN_USABLE_WITHOUT_POSTGRES_MS } from '../../contract/limits.ts'
import { listDeletedIds } from '../../db/workspaces/delete-workspace.ts'
import { forgetLeftOf } from '../../queue/log/forget-workspace.ts'
import type { Service } from './service.ts'

/**
 * After this time no process accepts a token of a deleted workspace or has a submission of it in
 * hand.
 */
const FORGOTTEN_FOR_MS = 2 * TOKEN_USABLE_WITHOUT_POSTGRES_MS

/** Removes the keys of submissions that were admitted after their workspace was deleted. */
export const forgetDeletedWorkspaces: Service = {
  name: 'forget-deleted-workspaces',
  everyMs: 20_000,
  run: async ({ sql, redis, prefix }) => ({
    keysForgotten: await forgetLeftOf(redis, prefix, await listDeletedIds(sql, FORGOTTEN_FOR_MS)),
  }),
}
