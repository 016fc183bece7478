import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { ServerProcess } from './server-process.ts'

type StartOptions<T extends ServerProcess> = {
  readonly name: string
  readonly start: () => Promise<T>
  readonly isReady: (server: T) => boolean | Promise<boolean>
  readonly readyWithinMs: number
  readonly logFile: string
  /** What a server says when it gives up over something that passes by itself. */
  readonly passingTrouble: RegExp
}

const LOOK_EVERY_MS = 20
const TRY_AGAIN_AFTER_MS = 500
const TRY_AGAIN_FOR_MS = 30_000

/** Starts a server and answers once it serves. Throws with the end of its log when it gives up or takes too long. */
export const startUntilReady = async <T extends ServerProcess>(options: StartOptions<T>): Promise<T> => {
  const { name, start, isReady, readyWithinMs, logFile, passingTrouble } = options
  const giveUpAt = Date.now() + TRY_AGAIN_FOR_MS
  for (;;) {
    const server = await start()
    if (await becomesReady(server, isReady, readyWithinMs)) return server
    const gaveUp = server.hasExited()
    await server.stop()
    const reason = lastLines(logFile)
    if (!gaveUp) throw new Error(`${name} is not ready after ${readyWithinMs / 1000} s; the end of its log:\n${reason}`)
    if (!passingTrouble.test(reason) || Date.now() > giveUpAt) {
      throw new Error(`${name} did not start; the end of its log:\n${reason}`)
    }
    await pause(TRY_AGAIN_AFTER_MS)
  }
}

const becomesReady = async <T extends ServerProcess>(
  server: T,
  isReady: StartOptions<T>['isReady'],
  withinMs: number,
): Promise<boolean> => {
  const deadline = Date.now() + withinMs
  while (!server.hasExited() && Date.now() < deadline) {
    if (await isReady(server)) return true
    await pause(LOOK_EVERY_MS)
  }
  return false
}

const lastLines = (logFile: string, count = 10): string => {
  return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-count).join('\n')
}
