import type { Operation } from '../contract/job.ts'
import { admissionPrefix } from '../contract/queues.ts'

/** Names of the Redis keys of one workspace's admission. */
export const admissionKeys = (prefix: string, workspaceId: string) => {
  const base = admissionPrefix(prefix, workspaceId)
  /** Of keys that there are many of: what comes before their own part, for scripts that complete them. */
  const before = {
    bucket: `${base}:bucket:`,
    said: `${base}:said:`,
    idempotency: `${base}:idempotency:`,
    concerned: `${base}:concerned:`,
    /** Admissions that came to nothing, for as long as an idempotency key may lead to them. */
    withdrawn: `${base}:withdrawn:`,
  }
  return {
    before,
    number: `${base}:number`,
    bucket: (operation: Operation) => `${before.bucket}${operation}`,
    /** Submissions that are not settled, by acceptance number; purges only until they are decided. */
    outstanding: `${base}:outstanding`,
    /** Those of the outstanding that are purges: what was accepted after one waits until it is decided. */
    purges: `${base}:purges`,
    /** Purges that are decided, whose records are being removed. */
    removing: `${base}:removing`,
    exists: `${base}:exists`,
    ledger: `${base}:ledger`,
    said: (keyId: string) => `${before.said}${keyId}`,
    withdrawn: (submissionId: string) => `${before.withdrawn}${submissionId}`,
    /** The key that an own id will belong to once a queued purge has ended its former one. */
    alias: (ownId: string) => `${base}:alias:${ownId}`,
    idempotency: (operation: Operation, key: string) => `${before.idempotency}${operation}:${key}`,
    /** What names the idempotency records of submissions that concern an identity key, by number, for purges to free. */
    concerned: (keyId: string) => `${before.concerned}${keyId}`,
  }
}

export type AdmissionKeys = ReturnType<typeof admissionKeys>
