import assert from 'node:assert/strict'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { hashKeyFrom } from '../../contract/identity/own-id.ts'
import { feedbackId } from '../../contract/stored-feedback.ts'
import { readLedgers } from './ledgers.ts'
import { assertStoredAsByOneClerk, submitHistory } from './one-clerk.ts'
import type { Service } from './service.ts'
import { until } from './until.ts'
import { type Crew, startCrew } from './worker-crew.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
export const SUBMISSIONS_AMONG_KILLS = Number(process.env['KILLED_SUBMISSIONS'] ?? (LONG ? 5_000 : 250))
/** A purge waits for all that was accepted before it: with one in fifteen, killed workers get through some ten submissions a second. */
const HISTORY = { purges: !LONG }
const WORKERS = 3
const KILL_EVERY_MS = 1_500
const SETTLED_WITHIN_MS = LONG ? 900_000 : 200_000
const DEADLY = {
  description: 'deadly',
  source: 'desk',
  sourceId: 'deadly',
  isExternalContactId: false,
  isExternalAccountId: false,
}

/**
 * Submits a history while workers are killed, until all of it is settled: nothing is lost, nothing is dead, and the tables are those that
 * one clerk would have made.
 */
export const outliveKills = async (service: Service): Promise<void> => {
  // Generated tags depend on the order; here nothing may.
  await service.queues.tagging.pause()
  const { result: accepted, deaths } = await amongKills({ environment: service.environment }, async () => {
    const submitted = await submitHistory(service, SUBMISSIONS_AMONG_KILLS, HISTORY)
    await isSettled(service)
    return submitted
  })
  console.log(`${accepted.size} settled over ${deaths.killed} deaths`)
  await assertStoredAsByOneClerk(service, accepted)
}

/** The same with a submission in the middle that kills each worker that wants to store it: that one ends dead, and no other. */
export const outliveKiller = async (service: Service): Promise<void> => {
  await service.queues.tagging.pause()
  const { workspaceId, environment } = service
  const hashKey = hashKeyFrom(environment['HASH_KEY']!)
  // The row of a record has this id, and a submission that is set aside has not.
  const deadlyText = feedbackId({ hashKey, workspaceId, submissionId: '' }, DEADLY)
  const { result, deaths } = await amongKills({ environment, deadlyText }, async () => {
    const before = await submitHistory(service, SUBMISSIONS_AMONG_KILLS / 2, HISTORY)
    const answer = await service.post('/feedbacks', DEADLY)
    const submittedAt = performance.now()
    const killer = answer.headers.get('Submission-Id')!
    const [after, dead] = await Promise.all([
      submitHistory(service, SUBMISSIONS_AMONG_KILLS / 2, HISTORY),
      until('the killer is dead', () => deadWith(service, killer), SETTLED_WITHIN_MS).then((error) => ({
        error,
        seconds: (performance.now() - submittedAt) / 1_000,
      })),
    ])
    await isSettled(service)
    return { accepted: new Map([...before, ...after]), killer, dead }
  })
  const { accepted, killer, dead } = result
  console.log(`the killer was dead after ${dead.seconds.toFixed(1)} s and ${deaths.ofText} deaths`)
  console.log(`${accepted.size} settled over ${deaths.killed} other deaths`)
  assert.equal(dead.error, 'GivenUp stalled')
  await assertStoredAsByOneClerk(service, accepted, [killer])
}

/** Does something while workers work and are killed; they have come to a clean end when this resolves. */
export const amongKills = async <T>(
  settings: { environment: Readonly<Record<string, string>>; deadlyText?: string },
  work: () => Promise<T>,
): Promise<{ result: T; deaths: ReturnType<Crew['deaths']> }> => {
  const crew = await startCrew({ size: WORKERS, ...settings })
  const stopped = new AbortController()
  const kill = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await pause(KILL_EVERY_MS)
      await crew.killOne()
    }
  }
  const killing = kill()
  const [ended] = await Promise.allSettled([work().finally(() => stopped.abort()), killing])
  const [left] = await Promise.allSettled([crew.stop()])
  if (ended.status === 'rejected') throw ended.reason
  await killing
  if (left.status === 'rejected') throw left.reason
  return { result: ended.value, deaths: crew.deaths() }
}

const isSettled = (service: Service): Promise<unknown> =>
  until(
    'all is settled',
    async () =>
      (await readLedgers(service.sql, service.redis, service.redisPrefix)).every(({ queued }) => queued === 0),
    SETTLED_WITHIN_MS,
  )

const deadWith = async ({ sql }: Service, id: string): Promise<string | undefined> => {
  const [row] = await sql<{ error: string }[]>`select error from submission where id = ${id} and state = 'dead'`
  return row?.error
}
