import assert from 'node:assert/strict'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { hashKeyFrom } from '../../contract/identity/own-id.ts'
import { feedbackId } from '../../contract/stored-feedback.ts'
import { ownWorkspace } from './own-workspace.ts'
import type { Service } from './service.ts'
import { assertEqualsModel, SETTLED_WITHIN_MS, submitHistory } from './submitted-history.ts'
import { until } from './until.ts'
import { type Crew, startCrew } from './worker-crew.ts'

export const SUBMISSIONS_AMONG_KILLS = Number(
  process.env['KILLED_SUBMISSIONS'] ?? (process.env['TEST_SIZE'] === 'long' ? 5_000 : 250),
)
const WORKERS = 3
const KILL_EVERY_MS = 1_500
const DEADLY = {
  description: 'deadly',
  source: 'desk',
  sourceId: 'deadly',
  isExternalContactId: false,
  isExternalAccountId: false,
}

/** Submits a history while one of three workers is killed every 1.5 s, until all of it is settled: rows equal the model, and nothing is dead. */
export const outliveKills = async (service: Service): Promise<void> => {
  const own = await ownWorkspace(service)
  const { result: confirmed, deaths } = await amongKills({ environment: service.environment }, async () => {
    const submitted = await submitHistory(own, SUBMISSIONS_AMONG_KILLS)
    await isSettled(own, [...submitted.keys()])
    return submitted
  })
  console.log(`${confirmed.size} settled over ${deaths.killed} deaths`)
  await assertEqualsModel(own, confirmed)
}

/** The same with a submission in the middle that kills each worker that saves it: it ends dead, and no other submission does. */
export const outliveKiller = async (service: Service): Promise<void> => {
  const own = await ownWorkspace(service)
  const { workspaceId, environment } = own
  const hashKey = hashKeyFrom(environment['HASH_KEY']!)
  // The row of the record has this id. A submission that is set aside has not.
  const deadlyText = feedbackId({ hashKey, workspaceId, submissionId: '' }, DEADLY)
  const { result, deaths } = await amongKills({ environment, deadlyText }, async () => {
    const before = await submitHistory(own, SUBMISSIONS_AMONG_KILLS / 2)
    const killer = (await own.post('/feedbacks', DEADLY)).headers.get('Submission-Id')!
    const after = await submitHistory(own, SUBMISSIONS_AMONG_KILLS / 2)
    const confirmed = new Map([...before, ...after])
    await isSettled(own, [killer, ...confirmed.keys()])
    return { confirmed, killer }
  })
  const { confirmed, killer } = result
  console.log(
    `the killer is dead after ${deaths.ofText} deaths; ${confirmed.size} settled over ${deaths.killed} others`,
  )
  const [dead] = await own.sql<{ state: string; error: string }[]>`
    select state, error from submission where id = ${killer}`
  assert.deepEqual({ ...dead }, { state: 'dead', error: 'GivenUp stalled' })
  await assertEqualsModel(own, confirmed, [killer])
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

const isSettled = ({ sql }: Pick<Service, 'sql'>, ids: readonly string[]): Promise<unknown> =>
  until(
    'all is settled',
    async () => {
      const settled = await sql`select from submission where id = any (${ids}::uuid[]) and state <> 'queued'`
      return settled.count === ids.length
    },
    SETTLED_WITHIN_MS,
  )
