import assert from 'node:assert/strict'
import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { sightOf, standBetween } from './between.ts'
import { spawnProgram } from './service-process.ts'
import { until } from './until.ts'
import { hashKeyFrom } from '../../contract/identity/keys.ts'
import { feedbackId } from '../../contract/feedback-record.ts'
import { type Fault, type Rig, stopInTurn } from './outlive.ts'
import { startService } from './service.ts'

export type Crew = {
  /**
   * Until this has ended, the longest-running worker is killed regularly, if the whole crew works.
   */
  readonly killWhile: <T>(work: Promise<T>) => Promise<T>
  /**
   * From this call on, a worker that sends this text to Postgres dies at once, and Postgres does
   * not get it.
   */
  readonly dieOf: (text: string) => void
  /** The number of deaths, by a kill or by the deadly text. */
  readonly deaths: () => { killed: number; ofText: number }
  /** Ends the workers like an init system, and fails if one does not end cleanly. */
  readonly stop: () => Promise<void>
}

type Member = {
  child: ReturnType<typeof spawnProgram>
  isWorking: () => boolean
  exited: Promise<unknown>
  leave: () => void
}

const KILL_EVERY_MS = 1_500

/** Worker processes. Each is started again when it dies. */
export const startCrew = async (size: number, environment: Readonly<Record<string, string>>): Promise<Crew> => {
  const members: Member[] = []
  const deaths = { killed: 0, ofText: 0 }
  let deadlyText: string | undefined
  let isStopping = false
  let output = ''

  const startOne = async (): Promise<void> => {
    let own = ''
    let diesOfText = false
    let isDeadly: ReturnType<typeof sightOf> | undefined
    const postgres = await standBetween(environment['DATABASE_URL']!, {
      request: (bytes, client) => {
        if (deadlyText !== undefined) isDeadly ??= sightOf(deadlyText)
        if (diesOfText || !isDeadly?.(bytes, client)) return !diesOfText
        diesOfText = true
        child.kill('SIGKILL')
        return false
      },
    })
    const child = spawnProgram('worker/main.ts', [], { ...environment, DATABASE_URL: postgres.url })
    const hear = (text: string): void => {
      own += text
      output += text
    }
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', hear)
    const exited = once(child, 'exit')
    const member = { child, isWorking: () => own.includes('"event":"working"'), exited, leave: postgres.stop }
    members.push(member)
    void exited.then(() => {
      if (isStopping) return undefined
      members.splice(members.indexOf(member), 1)
      postgres.stop()
      deaths[diesOfText ? 'ofText' : 'killed']++
      return startOne()
    })
  }
  await Promise.all(Array.from({ length: size }, startOne))
  const areWorking = (): boolean => members.length === size && members.every(({ isWorking }) => isWorking())
  const whole = () => until('the whole crew works', () => Promise.resolve(areWorking()))
  await whole()
  return {
    killWhile: async (work) => {
      const ended = new AbortController()
      const working = work.finally(() => ended.abort())
      const killing = (async () => {
        while (!ended.signal.aborted) {
          if (areWorking()) members[0]!.child.kill('SIGKILL')
          await pause(KILL_EVERY_MS)
        }
      })()
      const [result] = await Promise.all([working, killing])
      return result
    },
    dieOf: (text) => {
      deadlyText = text
    },
    deaths: () => ({ ...deaths }),
    stop: async () => {
      await whole()
      isStopping = true
      for (const { child } of members) process.kill(child.pid!, 'SIGTERM')
      await Promise.all(members.map(({ exited }) => exited))
      for (const { child, leave } of members) {
        leave()
        assert.equal(child.exitCode, 0, output)
      }
    },
  }
}

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
