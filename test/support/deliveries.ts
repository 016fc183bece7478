import * as fc from 'fast-check'
import type { SubmissionJob } from '../../contract/job.ts'
import { hashKeyFrom } from '../../contract/identity/own-id.ts'
import type { Sql } from '../../db/postgres.ts'
import { type PurgeRows, type Rows, store } from '../../db/store.ts'
import { leaveOutRepeats } from '../../db/submissions/repeats.ts'
import { rowsOf, type StoredJob } from '../../worker/rows/rows.ts'
import { submissionHistories } from '../model/submission-arbitrary.ts'

export const LENGTH = 30
export const hashKey = hashKeyFrom('5a'.repeat(32))

/** Histories of up to 30 submissions. Postgres keeps whole microseconds, and so do acceptance numbers. */
export const histories = submissionHistories({ hashKey, maxLength: LENGTH, firstNumber: 1_000_000 })

/** How a history reaches the workers: in which order, what twice, in batches of which size, and when one of them dies. */
export const schedules = fc.record({
  order: fc.array(fc.nat({ max: 1_000_000 }), { minLength: 2 * LENGTH, maxLength: 2 * LENGTH }),
  twice: fc.array(fc.boolean(), { minLength: LENGTH, maxLength: LENGTH }),
  sizes: fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 2 * LENGTH, maxLength: 2 * LENGTH }),
  killed: fc.array(fc.nat({ max: 7 }), { minLength: 2 * LENGTH, maxLength: 2 * LENGTH }),
})
type Schedule = typeof schedules extends fc.Arbitrary<infer T> ? T : never

export const toRows = (job: SubmissionJob): Rows => rowsOf(hashKey, job as StoredJob, 1)

/** Shuffled, with doubles, in batches that hold a submission once. */
export const batchesOf = (rows: readonly Rows[], { order, twice, sizes }: Schedule): Rows[][] => {
  const delivered = [...rows, ...rows.filter((_, index) => twice[index])]
  const shuffled = delivered
    .map((row, index) => ({ row, place: order[index]! }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ row }) => row)
  const batches: Rows[][] = []
  for (let size = 0, at = 0; at < shuffled.length; at += size) {
    size = sizes[batches.length]!
    batches.push([...new Map(shuffled.slice(at, at + size).map((row) => [row.submission.id, row])).values()])
  }
  return batches
}

/** Stores batches of a history and tells each what else may still come before it, as a worker does; upkeep comes after each. */
export const storing = (
  sql: Sql,
  history: readonly SubmissionJob[],
): ((batch: readonly (Rows | PurgeRows)[]) => Promise<unknown>) => {
  const settled = new Set<string>()
  const nameOf = (workspaceId: string, number: number): string => `${workspaceId} ${number}`
  return async (batch) => {
    const stored = batch.map((rows) => ({
      workspaceId: rows.workspaceId,
      number: 'purge' in rows ? rows.purge.number : rows.submission.number,
    }))
    const names = new Set(stored.map(({ workspaceId, number }) => nameOf(workspaceId, number)))
    const outstanding = new Map(
      [...Map.groupBy(stored, ({ workspaceId }) => workspaceId)].map(([workspaceId, own]) => {
        const highest = Math.max(...own.map(({ number }) => number))
        const others = history.filter((job) => {
          const name = nameOf(job.workspaceId, job.number)
          return job.workspaceId === workspaceId && job.number < highest && !names.has(name) && !settled.has(name)
        })
        return [workspaceId, others.map(({ number }) => number)] as const
      }),
    )
    await store(sql, batch, outstanding)
    for (const name of names) settled.add(name)
    for (const workspaceId of outstanding.keys()) {
      const left = history.filter(
        (job) => job.workspaceId === workspaceId && !settled.has(nameOf(workspaceId, job.number)),
      )
      const last = Math.max(0, ...history.map(({ number }) => number))
      await leaveOutRepeats(sql, workspaceId, Math.min(last, ...left.map(({ number }) => number - 1)))
    }
  }
}

/** Several workers take the batches in turn. All have ended before this ends, also when one of them fails. */
export const byWorkers = async (
  workers: number,
  batches: readonly Rows[][],
  deliver: (batch: readonly Rows[], index: number) => Promise<unknown>,
): Promise<void> => {
  const ended = await Promise.allSettled(
    Array.from({ length: workers }, async (_, worker) => {
      for (let index = worker; index < batches.length; index += workers) await deliver(batches[index]!, index)
    }),
  )
  for (const end of ended) if (end.status === 'rejected') throw end.reason
}
