import assert from 'node:assert/strict'
import { once } from 'node:events'
import process from 'node:process'
import { sightOf, standBetween } from './between.ts'
import { spawnProgram } from './service-process.ts'
import { until } from './until.ts'

export type Crew = {
  /** Ends the one that has worked longest as a power cut would, as soon as all of the crew work. */
  killOne: () => Promise<void>
  /** How often a worker died, of a kill or of the deadly text. */
  deaths: () => { killed: number; ofText: number }
  output: () => string
  /** Ends them as an init system would, and fails when one does not come to a clean end. */
  stop: () => Promise<void>
}

type Settings = {
  size: number
  environment: Readonly<Record<string, string>>
  /** A worker that sends this to Postgres dies of it at once, and Postgres does not get it. */
  deadlyText?: string
  /** What is done when the text has killed a worker, before another one is started in its place. */
  afterDeath?: () => Promise<void>
}
type Member = {
  child: ReturnType<typeof spawnProgram>
  isWorking: () => boolean
  exited: Promise<unknown>
  leave: () => void
}

/** Worker processes, each of which is started anew when it dies. */
export const startCrew = async ({ size, environment, deadlyText, afterDeath }: Settings): Promise<Crew> => {
  const members: Member[] = []
  const deaths = { killed: 0, ofText: 0 }
  let isStopping = false
  let output = ''

  const startOne = async (): Promise<void> => {
    let own = ''
    let diesOfText = false
    const isDeadly = deadlyText === undefined ? () => false : sightOf(deadlyText)
    const postgres = await standBetween(environment['DATABASE_URL']!, {
      request: (bytes, client) => {
        if (diesOfText || !isDeadly(bytes, client)) return !diesOfText
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
    void exited.then(async () => {
      if (isStopping) return
      members.splice(members.indexOf(member), 1)
      postgres.stop()
      deaths[diesOfText ? 'ofText' : 'killed']++
      if (diesOfText) await afterDeath?.()
      await startOne()
    })
  }
  await Promise.all(Array.from({ length: size }, startOne))

  return {
    killOne: async () => {
      await until('the whole crew works', () =>
        Promise.resolve(members.length === size && members.every(({ isWorking }) => isWorking())),
      )
      const { child, exited } = members[0]!
      child.kill('SIGKILL')
      await exited
    },
    deaths: () => ({ ...deaths }),
    output: () => output,
    stop: async () => {
      await until('the whole crew works', () =>
        Promise.resolve(members.length === size && members.every(({ isWorking }) => isWorking())),
      )
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
