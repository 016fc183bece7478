import type { Operation } from '../../contract/submission.ts'
import type { Bucket } from '../../queue/admission/admission.ts'

export type EmptyBuckets = {
  /**
   * The bucket of a workspace and operation, while it is known that no token is in it; undefined
   * when this process does not know.
   */
  find: (workspaceId: string, operation: Operation) => Bucket | undefined
  /** Tells what a bucket was found to be. */
  seen: (workspaceId: string, operation: Operation, bucket: Bucket | undefined) => void
}

/**
 * Remembers which buckets are empty, so that no body is read for nothing. A token comes back when
 * its time is over and never before, whichever process gave it.
 */
export const createEmptyBuckets = (now: () => number): EmptyBuckets => {
  const emptyUntil = new Map<string, number>()
  const nameOf = (workspaceId: string, operation: Operation): string => `${workspaceId} ${operation}`
  return {
    find: (workspaceId, operation) => {
      const name = nameOf(workspaceId, operation)
      const until = emptyUntil.get(name)
      if (until === undefined) return undefined
      const resetMs = until - now()
      if (resetMs > 0) return { remaining: 0, resetMs }
      emptyUntil.delete(name)
      return undefined
    },
    seen: (workspaceId, operation, bucket) => {
      if (bucket?.remaining === 0) emptyUntil.set(nameOf(workspaceId, operation), now() + bucket.resetMs)
    },
  }
}
