import assert from 'node:assert/strict'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { hashKeyFrom } from '../../contract/identity/keys.ts'
import { feedbackId } from '../../contract/feedback-record.ts'
import { type Fault, type Rig, stopInTurn } from './outlive.ts'
import { startService } from './service.ts'
import { until } from './until.ts'
import { type Crew, startCrew } from './worker-crew.ts'

type ThreeWorkers = Rig & { readonly crew: Crew }

const LONG = process.env['TEST_SIZE'] === 'long'
const KILLS_FOR_MS = LONG ? 120_000 : 6_000
const DEADLY = {
  description: 'deadly',
  source: 'desk',
  sourceId: 'deadly',
  isExternalContactId: false,
  isExternalAccountId: false,
}

/** Two API processes and three workers, by default at the servers of `npm test`. */
export const startThreeWorkers = async (servers: { redisUrl?: string } = {}) => {
  const environment = { CONVERSATIONS_PER_MINUTE: '1000000' }
  const service = await startService({ workers: 0, apis: 2, environment, ...servers })
  // Without generated tags, which depend on the order of texts.
  await service.queues.tagging.pause()
  const crew = await startCrew(3, service.environment)
  return { ...service, crew, stop: stopInTurn(crew.stop, service.stop) }
}

export const WORKERS_DIE: readonly Fault<ThreeWorkers>[] = [
  {
    fault: 'one of them is killed every 1.5 s',
    strike: async ({ crew }) => {
      const before = crew.deaths().killed
      await crew.killWhile(pause(KILLS_FOR_MS))
      const killed = crew.deaths().killed - before
      assert.ok(killed > 0)
      return { note: `${killed} killed` }
    },
  },
  {
    fault: 'one submission kills each worker that saves it, and becomes dead, while workers also die for other reasons',
    strike: async ({ crew }, own) => {
      const { workspaceId, environment, sql } = own
      const hashKey = hashKeyFrom(environment['HASH_KEY']!)
      // The row of the record has this id, unlike a submission that is set aside.
      crew.dieOf(feedbackId({ hashKey, workspaceId, submissionId: '' }, DEADLY))
      const before = crew.deaths()
      const killer = (await own.post('/feedbacks', DEADLY)).headers.get('Submission-Id')!
      const findReceipt = async () => {
        const [row] = await sql<{ state: string; error: string }[]>`
          select state, error from submission where id = ${killer} and state <> 'queued'`
        return row
      }
      const receipt = await crew.killWhile(until('the submission is settled', findReceipt, LONG ? 600_000 : 240_000))
      assert.deepEqual({ ...receipt }, { state: 'dead', error: 'GivenUp stalled' })
      const { killed, ofText } = crew.deaths()
      const note = `dead after ${ofText - before.ofText} deaths and ${killed - before.killed} others`
      return { dead: [killer], note }
    },
  },
]
