import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import type { KeyState } from '../../contract/submission.ts'
import { createAdmit } from '../../queue/admission/admit.ts'
import type { Admission, AdmissionRequest, Admit } from '../../queue/admission/call-admit.ts'
import { closeQueues, createWake, type JobQueues, openQueues, type Wake } from '../../queue/jobs/job-queues.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { createLog, type Log, type TakeSettings } from '../../queue/log/log.ts'
import { testServers } from './servers.ts'
import { removeKeys } from './service.ts'

/** Postgres without idempotency keys. */
export const UNUSED: KeyState = { state: 'unused' }

/** The wake of a process that dies before it wakes a worker. */
export const noWake: Wake = { wake: async () => {}, ended: async () => {} }

export const requestFor = (given: Partial<AdmissionRequest> & { workspaceId: string }): AdmissionRequest => ({
  operation: 'create_feedback',
  bodyText: '{"description":"x"}',
  ...given,
})

export type Entered = Extract<Admission, { submissionId: string }>

/** Returns an admission that was admitted or repeated. Fails for another outcome. */
export const entered = (admission: Admission | undefined): Entered => {
  assert.ok(admission?.outcome === 'admitted' || admission?.outcome === 'repeated', String(admission?.outcome))
  return admission
}

/** A worker named `a`, which keeps no applied entries for a failover of Postgres. */
export const takeSettings = (given: Partial<TakeSettings> = {}): TakeSettings => ({
  worker: 'a',
  leaseMs: 60_000,
  submissions: 1_000,
  bytes: 10_000_000,
  takesDeep: true,
  redoMs: 0,
  ...given,
})

type QueueRoom = {
  prefix: string
  redis: Redis
  queues: JobQueues
  log: Log
  wake: Wake
  /** Admits without waking a worker. Postgres has no idempotency keys. */
  admit: Admit
  /** Like `admit`, with numbers above a floor. */
  admitAbove: (floorOf: (workspaceId: string) => Promise<number>) => Admit
  /** Notes all submissions of a log as applied, and returns the position. */
  noteAllApplied: (workspaceId: string) => Promise<number | undefined>
  /** Our keys of a workspace, without their common prefix. */
  keysOf: (workspaceId: string) => Promise<string[]>
  close: () => Promise<void>
}

/** The queue room with its own prefix. */
export const openQueueRoom = (): QueueRoom => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  const redis = new Redis(testServers().redisUrl, { maxRetriesPerRequest: null })
  const queues = openQueues(redis, prefix)
  const admitAbove: QueueRoom['admitAbove'] = (floorOf) =>
    createAdmit({ redis, prefix, wake: noWake, floorOf, findStoredKey: async () => UNUSED })
  const log = createLog(redis, prefix)
  return {
    prefix,
    redis,
    queues,
    log,
    wake: createWake(queues),
    admit: admitAbove(async () => 0),
    admitAbove,
    noteAllApplied: async (workspaceId) => {
      const waiting = await Array.fromAsync(log.readWaiting(workspaceId))
      const applied = waiting.at(-1)?.number
      await log.take([{ workspaceId, applied }], takeSettings())
      return applied
    },
    keysOf: async (workspaceId) => {
      const base = workspaceKeys(prefix, workspaceId).pattern.slice(0, -1)
      return (await redis.keys(`${base}*`)).map((key) => key.slice(base.length)).toSorted()
    },
    close: async () => {
      await closeQueues(queues)
      await removeKeys(redis, prefix)
      await redis.quit()
    },
  }
}
