import type { Operation } from '../../contract/submission.ts'
import type { Bucket } from '../../queue/admission/admission.ts'

export type EmptyBuckets = {
  /** The bucket of a workspace and operation if it is known to be empty, else undefined. */
  find: (workspaceId: string, operation: Operation) => Bucket | undefined
  /** Records the state of a bucket. */
  seen: (workspaceId: string, operation: Operation, bucket: Bucket | undefined) => void
}

/**
 * Remembers empty buckets, so that the API reads no body in vain. A token returns at its time and
 * never earlier, for all processes alike.
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
