import { WEBHOOKS_AT_ONCE } from '../../db/webhooks.ts'

/**
 * The places for deliveries in this worker. A workspace has a few of them, so that its slow
 * receivers leave places for other workspaces.
 */
export type Places = {
  /** Does the work, or returns undefined if the workspace has no free place. */
  inPlace: <T>(workspaceId: string, work: () => Promise<T>) => Promise<T | undefined>
}

export const createPlaces = (): Places => {
  const taken = new Map<string, number>()
  return {
    inPlace: async (workspaceId, work) => {
      const before = taken.get(workspaceId) ?? 0
      if (before >= WEBHOOKS_AT_ONCE) return undefined
      taken.set(workspaceId, before + 1)
      try {
        return await work()
      } finally {
        const left = taken.get(workspaceId)! - 1
        if (left === 0) taken.delete(workspaceId)
        else taken.set(workspaceId, left)
      }
    },
  }
}
