import { setTimeout as pause } from 'node:timers/promises'
import { feedbackBody } from '../bodies.ts'
import { percentile } from '../figures/statistics.ts'
import type { Service } from '../installation/service.ts'
import { type CreateSection, feedbackTarget, loadWith, untilAllFinished } from '../rig.ts'

const PAUSE_MS = 50
const LOOK_EVERY_MS = 1
/**
 * Polls Postgres for one submission in this many, since constant polling would keep the machine
 * busy.
 */
const WATCHED_EVERY = 4

/** One submission after another, each on an idle machine. */
export const lone: CreateSection = async (rig) => {
  const { config, measures, takeNumbers } = rig
  const service = await rig.service('lone')
  const { sql } = service
  await loadWith(rig, feedbackTarget(service), { idempotencyKeys: true })
  await untilAllFinished(rig, service)
  const submitNext = () => submit(service, { number: takeNumbers(1), people: config.storedContacts })

  /** Measured by the clocks of Redis and Postgres, which run on this machine. */
  const appliedAfter = async (): Promise<number> => {
    const id = await submitNext()
    do await pause(PAUSE_MS)
    while (!(await isStored(service, id)))
    const [row] = await sql<{ ms: string }[]>`
      select extract(epoch from finished_at - accepted_at) * 1000 as ms from submission where id = ${id}`
    return Number(row!.ms)
  }
  /** Measured from before the request, by the clock of this process. */
  const seenAfter = async (): Promise<number> => {
    const startedAt = performance.now()
    const id = await submitNext()
    while (!(await isStored(service, id))) await pause(LOOK_EVERY_MS)
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
      const seen = await takeSorted(Math.ceil(count / WATCHED_EVERY), seenAfter)
      measures.add('seen in Postgres after, lone submission', percentile(seen, 0.5))
      measures.add('seen in Postgres after, p95 of lone submissions', percentile(seen, 0.95))
    },
  }
}

/** Sends a submission and returns its id. */
const submit = async (
  { url, token }: Service,
  { number, people }: { number: number; people: number },
): Promise<string> => {
  const answer = await fetch(`${url}/feedbacks`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': `key-${number}`,
    },
    body: JSON.stringify(feedbackBody(number, { people })),
  })
  const text = await answer.text()
  const id = answer.headers.get('Submission-Id')
  if (!answer.ok || id === null) throw new Error(`A lone submission was answered ${answer.status}: ${text}`)
  return id
}

const isStored = async ({ sql, workspaceId }: Service, id: string): Promise<boolean> => {
  const rows = await sql`
    select from submission where workspace_id = ${workspaceId} and id = ${id} and state <> 'queued'`
  return rows.count > 0
}

const takeSorted = async (count: number, take: () => Promise<number>): Promise<Float64Array> => {
  const taken = new Float64Array(count)
  for (let place = 0; place < count; place++) taken[place] = await take()
  return taken.sort()
}
