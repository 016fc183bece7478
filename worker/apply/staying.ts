/**
 * A workspace with which the worker stays is taken at most this often. A stride of one submission
 * costs nearly as much as a stride of several.
 */
const PACE_MS = 400
/** The pace after a stride of at least `MANY` submissions, so that the log does not become deep. */
const BUSY_PACE_MS = 50
const MANY = 16
/** Workspaces that are due within this time share a take. */
const TOGETHER_MS = 20
/** The lease of a workspace with which the worker stays. If it runs out, admissions wake again. */
export const STAYING_LEASE_MS = 1_500
/** As many as in a wake job. */
const WORKSPACES_AT_ONCE = 100

/** How many submissions the last take has read, and its time. */
export type LastTake = { found: number; takenAt: number }

/** The workspaces whose leases this process keeps between two takes. */
export type Staying = {
  stay: (workspaceId: string, last: LastTake) => void
  /** Forgets workspaces that a job takes. */
  leave: (workspaceIds: readonly string[]) => void
  /** Ends all takes, and returns the workspaces whose leases are to be released. */
  stop: () => Promise<string[]>
}

/** Calls `takeAgain` with workspaces when their pace is over. */
export const createStaying = (takeAgain: (workspaceIds: readonly string[]) => Promise<unknown>): Staying => {
  const dueAt = new Map<string, number>()
  const underWay = new Set<Promise<unknown>>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let wakesAt = Infinity
  const takeDue = (): void => {
    wakesAt = Infinity
    const until = performance.now() + TOGETHER_MS
    const due = [...dueAt].flatMap(([id, at]) => (at <= until ? [id] : [])).slice(0, WORKSPACES_AT_ONCE)
    for (const id of due) dueAt.delete(id)
    if (due.length > 0) {
      const taking: Promise<unknown> = takeAgain(due).finally(() => underWay.delete(taking))
      underWay.add(taking)
    }
    plan(Math.min(...dueAt.values()))
  }
  const plan = (at: number): void => {
    if (at >= wakesAt || at === Infinity) return
    clearTimeout(timer)
    wakesAt = at
    timer = setTimeout(takeDue, Math.max(0, at - performance.now()))
  }
  return {
    stay: (workspaceId, { found, takenAt }) => {
      const at = takenAt + (found < MANY ? PACE_MS : BUSY_PACE_MS)
      dueAt.set(workspaceId, at)
      plan(at)
    },
    leave: (workspaceIds) => {
      for (const id of workspaceIds) dueAt.delete(id)
    },
    stop: async () => {
      clearTimeout(timer)
      wakesAt = -Infinity
      await Promise.all(underWay)
      return [...dueAt.keys()].filter((id) => dueAt.delete(id))
    },
  }
}
