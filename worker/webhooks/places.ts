import { WEBHOOKS_AT_ONCE } from '../../db/webhooks.ts'

/**
 * The places for deliveries in this worker. A workspace has a few of them, so that its slow
 * receivers leave places for other workspaces.
 */
export type Places = {
  /** Does the work, or returns undefined if the workspace has no free place. */
  inPlace: <T>(workspaceId: string, work: () => Promise<T>) => Promise<T | undefined>
  /** Does the work when no other such work of the workspace is under way: large records take memory. */
  alone: <T>(workspaceId: string, work: () => Promise<T>) => Promise<T>
}

export const createPlaces = (): Places => {
  const taken = new Map<string, number>()
  const lasts = new Map<string, Promise<unknown>>()
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
    alone: async (workspaceId, work) => {
      const own = (lasts.get(workspaceId) ?? Promise.resolve()).catch(() => {}).then(work)
      lasts.set(workspaceId, own)
      try {
        return await own
      } finally {
        if (lasts.get(workspaceId) === own) lasts.delete(workspaceId)
      }
    },
  }
}
