/** The workspaces that one job has in hand. */
export type Hand = {
  ids: () => string[]
  /** Removes the mark. Called before the log of the workspace is read. */
  unmark: (workspaceId: string) => void
  /** Gives a workspace back, unless a job has named it since its log was read: then false. */
  giveBack: (workspaceId: string) => boolean
  /** Gives workspaces back in any case. */
  drop: (...workspaceIds: readonly string[]) => void
}

export type InHand = {
  /** Takes those workspaces that no job of this process has in hand, and marks the others. */
  begin: (workspaceIds: readonly string[]) => Hand
  ids: () => string[]
}

/**
 * The workspaces whose logs this process is applying. A job that names one of them only marks it,
 * so that the log is read once more before the workspace is given back: no entry is overlooked, and
 * no two jobs of one process apply the same log.
 */
export const createInHand = (): InHand => {
  const marked = new Map<string, boolean>()
  return {
    begin: (workspaceIds) => {
      const own = new Set(workspaceIds.filter((id) => !marked.has(id)))
      for (const id of workspaceIds) marked.set(id, !own.has(id))
      const drop: Hand['drop'] = (...ids) => {
        for (const id of ids) if (own.delete(id)) marked.delete(id)
      }
      return {
        ids: () => [...own],
        unmark: (workspaceId) => void marked.set(workspaceId, false),
        giveBack: (workspaceId) => {
          if (marked.get(workspaceId)) return false
          drop(workspaceId)
          return true
        },
        drop,
      }
    },
    ids: () => [...marked.keys()],
  }
}
