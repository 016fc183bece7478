import assert from 'node:assert/strict'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { createTextCheck, standBetween } from './between.ts'
import { keep, runProgram, send } from './kept-process.ts'
import { startParts } from './temporary-directory.ts'
import { until } from './until.ts'
import type { Fault, Rig } from './describe-faults.ts'
import { submissionIdOf } from './service.ts'
import { startHistoryService } from './submitted-history.ts'

type Crew = {
  /** Kills the workers in turn until `work` ends. Kills none while another worker is down. */
  readonly killWhile: <T>(work: Promise<T>) => Promise<T>
  /** From now on, a worker that sends this text dies, and Postgres does not get the text. */
  readonly dieOf: (text: string) => void
  /** The number of deaths, by a kill or by the deadly text. */
  readonly deaths: () => { killed: number; ofText: number }
  /** Ends the workers by SIGTERM. Rejects if one does not exit with code 0. */
  readonly stop: () => Promise<void>
}

const WORKERS = 3
const KILL_EVERY_MS = 1_500

/** Starts three workers. Each starts again when it dies. */
const startCrew = async (environment: Readonly<Record<string, string>>): Promise<Crew> => {
  const deaths = { killed: 0, ofText: 0 }
  let isDeadly: ReturnType<typeof createTextCheck> | undefined
  let output = ''
  const startMember = async () => {
    let own = ''
    const postgres = await standBetween(environment['DATABASE_URL']!, {
      request: (bytes, client) => {
        if (!isDeadly?.(bytes, client)) return true
        deaths.ofText++
        send(worker.pid(), 'SIGKILL')
        client.destroy()
        return false
      },
    })
    const worker = await keep(() => {
      own = ''
      return runProgram('worker/main.ts', { ...environment, DATABASE_URL: postgres.url }, (text) => {
        own += text
        output += text
      })
    })
    return { worker, isWorking: () => worker.pid() !== undefined && own.includes('"event":"working"'), postgres }
  }
  const members = await Promise.all(Array.from({ length: WORKERS }, startMember))
  const areWorking = (): boolean => members.every(({ isWorking }) => isWorking())
  const untilWhole = () => until('the whole crew works', () => Promise.resolve(areWorking()))
  await untilWhole()
  return {
    killWhile: async (work) => {
      const ended = new AbortController()
      const working = work.finally(() => ended.abort())
      const killing = (async () => {
        while (!ended.signal.aborted) {
          if (areWorking()) send(members[deaths.killed++ % WORKERS]!.worker.pid(), 'SIGKILL')
          await pause(KILL_EVERY_MS)
        }
      })()
      const [result] = await Promise.all([working, killing])
      return result
    },
    dieOf: (text) => {
      isDeadly = createTextCheck(text)
    },
    deaths: () => ({ ...deaths }),
    stop: async () => {
      await untilWhole()
      const exits = members.map(({ worker }) => worker.exited() as Promise<[code: number | null]>)
      await Promise.all(members.map(({ worker }) => worker.stop()))
      for (const { postgres } of members) postgres.stop()
      for (const [code] of await Promise.all(exits)) assert.equal(code, 0, output)
    },
  }
}

type ThreeWorkers = Rig & { readonly crew: Crew }

const LONG = process.env['TEST_SIZE'] === 'long'
const KILLS_FOR_MS = LONG ? 120_000 : 3_000
const DEADLY = {
  description: 'deadly',
  source: 'desk',
  sourceId: 'deadly',
  isExternalContactId: false,
  isExternalAccountId: false,
}

/** Two API processes and three workers, by default at the servers of `npm test`. */
export const startThreeWorkers = (servers: { redisUrl?: string } = {}) =>
  startParts('crew', async (running) => {
    const service = await startHistoryService({ workers: 0, apis: 2, ...servers })
    running.defer(service.stop)
    const crew = await startCrew(service.environment)
    running.defer(crew.stop)
    return { ...service, crew }
  })

export const WORKERS_DIE: readonly Fault<ThreeWorkers>[] = [
  {
    fault: 'a worker is killed every 1.5 s, unless another is down',
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
      const { sql } = own
      // Workers send this when they save the row of the feedback, but not when they set it aside.
      crew.dieOf(`"source_id":"${DEADLY.sourceId}"`)
      const before = crew.deaths()
      const killer = submissionIdOf(await own.post('/feedbacks', DEADLY))
      const findReceipt = async () => {
        const [row] = await sql<{ state: string; error: string }[]>`
          select state, error from submission where id = ${killer} and state <> 'queued'`
        return row
      }
      const receipt = await crew.killWhile(until('the submission is settled', findReceipt))
      assert.deepEqual({ ...receipt }, { state: 'dead', error: 'GivenUp stalled' })
      const { killed, ofText } = crew.deaths()
      const note = `dead after ${ofText - before.ofText} deaths and ${killed - before.killed} others`
      return { dead: [killer], note }
    },
  },
]
