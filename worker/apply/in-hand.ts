/** The workspaces of one job. */
export type Hand = {
  ids: () => string[]
  /** Whether another job has named the workspace since its log was read. */
  isMarked: (workspaceId: string) => boolean
  /** Removes the mark. Call it before reading the workspace's log. */
  unmark: (workspaceId: string) => void
  /**
   * Gives a workspace back and returns true. Returns false if a job has named the workspace since
   * its log was read.
   */
  giveBack: (workspaceId: string) => boolean
  /** Gives workspaces back, marked or not. */
  drop: (...workspaceIds: readonly string[]) => void
}

export type InHand = {
  /** Takes the workspaces that no job of this process has, and marks the others. */
  begin: (workspaceIds: readonly string[]) => Hand
  ids: () => string[]
}

/**
 * The workspaces whose logs this process is applying. Another job that names such a workspace only
 * marks it. The log of a marked workspace is read again before the workspace is given back. So the
 * process overlooks no entry, and never applies one log in two jobs.
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
        isMarked: (workspaceId) => marked.get(workspaceId) === true,
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
