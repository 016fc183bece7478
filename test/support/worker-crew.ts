import assert from 'node:assert/strict'
import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { sightOf, standBetween } from './between.ts'
import { spawnProgram } from './service-process.ts'
import { until } from './until.ts'

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
