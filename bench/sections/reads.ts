import { fillTables } from '../../test/support/fill-tables.ts'
import { percentile } from '../figures/statistics.ts'
import type { Measure } from '../figures/measures.ts'
import type { Service } from '../installation/service.ts'
import { type CreateSection, feedbackTarget, loadWith, untilAllFinished, warmUp } from '../rig.ts'

const PER_SECOND = 1_000
const READERS = 10
/** Each reader waits so long after an answer. Without a wait, ten readers take all of two cores. */
const PAUSE_MS = 50
const CHANGES_AT_ONCE = 500

/** Reads of a workspace with much feedback, while submissions come in at a steady rate. */
export const reads: CreateSection = async (rig) => {
  const { config, measures } = rig
  const service = await rig.service('reads')
  await fillTables(service.sql, config.readFeedback)
  // What autovacuum would do after so many rows, and the checkpoint, are no part of the figures.
  await service.sql.unsafe('vacuum (freeze, analyze)')
  await service.sql.unsafe('checkpoint')
  const target = feedbackTarget(service)
  await warmUp(rig, [target])
  await untilAllFinished(rig, service)
  const steadily = () => loadWith(rig, target, { perSecond: PER_SECOND, seconds: READ_SECONDS, idempotencyKeys: true })
  return {
    round: async () => {
      const alone = await steadily()
      measures.add('p99 at 1,000 a second, nobody reads', alone.p99Ms)
      await untilAllFinished(rig, service)
      const [, taken] = await whileRead(service, 1, steadily)
      await untilAllFinished(rig, service)
      const [busy] = await whileRead(service, READERS, steadily)
      measures.add('p99 at 1,000 a second, ten readers', busy.p99Ms)
      measures.add('accepted of 1,000 a second, ten readers', busy.accepted / busy.seconds)
      for (const [measure, times] of taken)
        measures.add(
          measure,
          percentile(
            times.toSorted((a, b) => a - b),
            0.95,
          ),
        )
      await untilAllFinished(rig, service)
    },
  }
}

const READ_SECONDS = 10

type Times = Map<Measure, number[]>

/** Does the work while so many readers read in turn, and returns how long the reads took. */
const whileRead = async <T>(service: Service, readers: number, work: () => Promise<T>): Promise<[T, Times]> => {
  const over = new AbortController()
  const taken: Times = new Map(KINDS_OF_READS.map(([measure]) => [measure, []]))
  const reading = Array.from({ length: readers }, (_, at) => readOn(service, { at, taken, over: over.signal }))
  const done = await work()
  over.abort()
  await Promise.all(reading)
  return [done, taken]
}

type Reader = { at: number; taken: Times; over: AbortSignal }

/** The addresses of one kind of read. */
const KINDS_OF_READS: readonly [Measure, (ids: readonly string[], at: number) => string][] = [
  ['a list, p95', () => '/feedbacks'],
  ['a list by source, p95', () => '/feedbacks?source=mail&order=oldest'],
  ['a record, p95', (ids, at) => `/feedbacks/${ids[at % ids.length]}`],
  ['500 changes, p95', (ids, at) => `/changes?limit=${CHANGES_AT_ONCE}&after=${1 + (at % ids.length)}`],
]

const readOn = async ({ url, token, sql, workspaceId }: Service, { at, taken, over }: Reader): Promise<void> => {
  const rows = await sql<{ id: string }[]>`select id from feedback where workspace_id = ${workspaceId} limit 1000`
  const ids = rows.map(({ id }) => id)
  for (let turn = at; !over.aborted; turn++) {
    const [measure, pathOf] = KINDS_OF_READS[turn % KINDS_OF_READS.length]!
    const startedAt = performance.now()
    const answer = await fetch(`${url}${pathOf(ids, turn)}`, { headers: { Authorization: `Bearer ${token}` } })
    await answer.text()
    // 503: too many reads at a time. A reader comes back.
    if (answer.status === 503) continue
    if (!answer.ok) throw new Error(`A read was answered ${answer.status}`)
    taken.get(measure)!.push(performance.now() - startedAt)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}
