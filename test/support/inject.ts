import { randomUUID } from 'node:crypto'
import type { Operation } from '../../contract/submission.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { createAdmit } from '../../queue/admission/admit.ts'
import { createWake, type JobQueues } from '../../queue/jobs/job-queues.ts'
import { compactId, groupKeys, groupOf, workspaceKeys } from '../../queue/keys.ts'
import { idBaseOf, itemText, letterOf, submissionIdIn } from '../../queue/log/log-entry.ts'
import { noWake, UNUSED } from './queue-room.ts'
import type { Service } from './service.ts'
import { until } from './until.ts'

type Injected = { submissionId: string; number: number }
type Place = Pick<Service, 'redis' | 'redisPrefix' | 'workspaceId'>
type Injection = { operation?: Operation; body: object; agoMs?: number }

/**
 * Admits a submission without the checks of the API, and wakes a worker. A submission with a NUL in
 * a text becomes dead. `agoMs` is the age of its number; the log must have no newer entry.
 */
export const inject = async (place: Place, queues: JobQueues, injection: Injection): Promise<Injected> => {
  const wake = createWake(queues)
  const { agoMs } = injection
  const injected = agoMs === undefined ? await admit(place, injection) : await append(place, injection, agoMs)
  await wake.wake(place.workspaceId, { submissions: 1, isDeep: false })
  await wake.ended()
  return injected
}

/**
 * Injects a submission that Postgres refuses, and waits until it is dead. Returns its id. The `sql`
 * of a shared service sees one workspace only, and its `all` each of them.
 */
export const injectDead = async (
  place: Place & { readonly all?: Sql; readonly sql: Sql },
  queues: JobQueues,
  injection: Injection,
): Promise<string> => {
  const { submissionId } = await inject(place, queues, injection)
  await until(`${submissionId} is dead`, async () => {
    const found = await (place.all ?? place.sql)`select from dead_submission where id = ${submissionId}`
    return found.count === 1
  })
  return submissionId
}

const admit = async (
  { redis, redisPrefix: prefix, workspaceId }: Place,
  { operation = 'create_feedback', body }: Injection,
): Promise<Injected> => {
  const admission = await createAdmit({ redis, prefix, wake: noWake, findStoredKey: async () => UNUSED })({
    workspaceId,
    operation,
    bodyText: JSON.stringify(body),
  })
  if (admission.outcome !== 'admitted') throw new Error(`Not admitted: ${admission.outcome}`)
  return admission
}

/** Appends an entry that seems to be admitted `agoMs` ago. */
const append = async (
  { redis, redisPrefix, workspaceId }: Place,
  { operation = 'create_feedback', body }: Injection,
  agoMs: number,
): Promise<Injected> => {
  const keys = workspaceKeys(redisPrefix, workspaceId)
  const [seconds, microseconds] = await redis.time()
  const number = Number(seconds) * 1_000_000 + Number(microseconds) - Math.round(agoMs * 1_000)
  const [last, appended, bytes, applied] = await redis.hmget(keys.state, 'number', 'appended', 'bytes', 'applied')
  const idBase = idBaseOf(randomUUID())
  const head = ['1', number, letterOf(operation), compactId(idBase), appended ?? 0, bytes ?? 0, applied ?? 0]
  const value = `${head.join(' ')}\n[${itemText({ bodyText: JSON.stringify(body) })}]`
  await redis.xadd(keys.log, `${number}-0`, 'v', value)
  await redis.sadd(groupKeys(redisPrefix, groupOf(workspaceId)).withEntries, workspaceId)
  const isFirst = Number(applied ?? 0) >= Number(last ?? 0)
  await redis.hset(keys.state, { number, ...(isFirst && { oldest: number }) })
  await redis.hincrby(keys.state, 'appended', 1)
  await redis.hincrby(keys.state, 'bytes', Buffer.byteLength(value))
  return { submissionId: submissionIdIn({ idBase, first: number }, 1), number }
}

/** The body of a feedback in the form of the log. */
export const feedbackBody = (description: string, more: object = {}): object => ({
  description,
  isExternalContactId: false,
  isExternalAccountId: false,
  ...more,
})
