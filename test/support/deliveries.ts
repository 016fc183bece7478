import * as fc from 'fast-check'
import type { SubmissionJob } from '../../contract/job.ts'
import { hashKeyFrom } from '../../contract/identity/own-id.ts'
import type { Rows } from '../../db/store.ts'
import { rowsOf, type StoredJob } from '../../worker/rows/rows.ts'
import { submissionHistories } from '../model/submission-arbitrary.ts'

const LENGTH = 30
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
