import { setTimeout as pause } from 'node:timers/promises'
import { feedbackBody } from '../bodies.ts'
import { percentile } from '../figures/statistics.ts'
import { finalState } from '../installation/finished.ts'
import { type CreateSection, feedbackTarget, loadWith, submit, untilAllFinished } from '../rig.ts'

// Longer than a worker stays with a workspace.
const PAUSE_MS = 600
const LOOK_EVERY_MS = 1
/** Watching keeps the machine busy, so watched submissions are fewer by this factor. */
const WATCHED_DIVISOR = 4

/** One submission after another, each on an idle machine. */
export const lone: CreateSection = async (rig) => {
  const { config, measures, takeNumbers } = rig
  const service = await rig.service('lone')
  const { sql } = service
  await loadWith(rig, feedbackTarget(service), { idempotencyKeys: true })
  await untilAllFinished(rig, service)
  const submitNext = (): Promise<string> => {
    const number = takeNumbers(1)
    const body = feedbackBody(number, { people: config.storedContacts })
    return submit(rig, service, { path: '/feedbacks', body, idempotencyKey: `key-${number}` })
  }

  /** Measured by the clocks of Redis and Postgres, which run on this machine. */
  const appliedAfter = async (): Promise<number> => {
    const id = await submitNext()
    await pause(PAUSE_MS)
    await finalState(service, id, PAUSE_MS)
    const [row] = await sql<{ ms: string }[]>`
      select extract(epoch from finished_at - accepted_at) * 1000 as ms from submission where id = ${id}`
    return Number(row!.ms)
  }
  /** Measured from before the request, by the clock of this process. */
  const seenAfter = async (): Promise<number> => {
    const startedAt = performance.now()
    const id = await submitNext()
    await finalState(service, id, LOOK_EVERY_MS)
    const ms = performance.now() - startedAt
    await pause(PAUSE_MS)
    return ms
  }
  return {
    round: async () => {
      const count = Math.ceil(config.lone / config.rounds)
      const applied = await takeSorted(count, appliedAfter)
      measures.add('applied after, lone submission', percentile(applied, 0.5))
      measures.add('applied after, p95 of lone submissions', percentile(applied, 0.95))
      const seen = await takeSorted(Math.ceil(count / WATCHED_DIVISOR), seenAfter)
      measures.add('seen in Postgres after, lone submission', percentile(seen, 0.5))
      measures.add('seen in Postgres after, p95 of lone submissions', percentile(seen, 0.95))
    },
  }
}

const takeSorted = async (count: number, take: () => Promise<number>): Promise<Float64Array> => {
  const taken = new Float64Array(count)
  for (let place = 0; place < count; place++) taken[place] = await take()
  return taken.sort()
}
