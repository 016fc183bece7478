import type { ProcessReport } from '../../queue/jobs/process-reports.ts'
import { roomFor } from '../../runtime/room.ts'

export type BodyFigures = ProcessReport['bodies']

type Body = { workspaceId: string; bytes: number }

/**
 * The bodies that the process reads, parses, validates and sends to Redis, and the large answers
 * that it writes.
 */
export type BodiesInHand = {
  /**
   * Does the work once there is room for the body. Undefined, without reading the body, if no room
   * appears in time.
   */
  hold: <T>(body: Body, work: () => Promise<T>) => Promise<T | undefined>
  /**
   * Does the work with an arrived body, one large body after the other, since this process has one
   * thread.
   */
  inTurn: <T>(body: Body, work: () => Promise<T>) => Promise<T>
  /**
   * Counts an answer even without room, since its submission is accepted. Call the returned
   * function once the answer is written.
   */
  takeAnswer: (answer: Body) => () => void
  figures: () => BodyFigures
}

const PATIENCE_MS = 2_000
/** Smaller bodies are parsed and validated fast enough to need no turn. */
const LARGE_BYTES = 64 * 1024
const LONG_MS = 20
const LONGEST_PAUSE_MS = 500
const LONGEST_TURN_MS = 1_000

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Bounds the bytes of bodies that a process has in hand. No workspace can take all of them
 * (`roomFor`).
 */
export const createBodiesInHand = (mostBytes: number): BodiesInHand => {
  const room = roomFor({ submissions: Infinity, bytes: mostBytes })
  const turns = roomFor({ submissions: 1, bytes: Infinity })
  let refused = 0
  return {
    hold: async (body, work) => {
      const done = await room.enterSoon({ ...body, submissions: 1 }, work, PATIENCE_MS)
      if (done === undefined) refused++
      return done
    },
    inTurn: (body, work) =>
      body.bytes <= LARGE_BYTES
        ? work()
        : new Promise((resolve, reject) => {
            void turns.enter({ ...body, submissions: 1 }, async () => {
              const beganAt = performance.now()
              const done = work()
              done.then(resolve, reject)
              // A hanging Redis holds one body for seconds, and must not hold up the bodies after
              // it.
              await Promise.race([done.catch(() => {}), after(LONGEST_TURN_MS)])
              await othersTurn(performance.now() - beganAt)
            })
          }),
    takeAnswer: (answer) => room.take({ ...answer, submissions: 1 }),
    figures: () => ({ bytes: room.used().bytes, mostBytes, refused }),
  }
}

/**
 * After a large body, other work gets the process for the same time, or at least until the waiting
 * events are handled.
 */
const othersTurn = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    if (ms < LONG_MS) setImmediate(resolve)
    else setTimeout(resolve, Math.min(ms, LONGEST_PAUSE_MS))
  })
