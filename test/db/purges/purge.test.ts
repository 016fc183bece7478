import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import * as v from 'valibot'
import { conversationRecord } from '../../../contract/conversation-record.ts'
import { feedbackRecord } from '../../../contract/feedback-record.ts'
import { JOB_VERSION, type JobOf, type SubmissionJob } from '../../../contract/job.ts'
import { purgeRow, removePurged, settlePurge } from '../../../db/purges/purge.ts'
import { store } from '../../../db/store.ts'
import { applyAll } from '../../model/model.ts'
import { submissionHistories } from '../../model/submission-arbitrary.ts'
import { batchesOf, byWorkers, hashKey, schedules, storing, toRows } from '../../support/deliveries.ts'
import { seeded } from '../../support/property-seed.ts'
import { freshSchema, type TestSchema } from '../../support/schema.ts'
import { clearTables, dumpModel, dumpTables } from '../../support/tables.ts'

const HISTORIES = Number(process.env['PURGE_HISTORIES'] ?? (process.env['TEST_SIZE'] === 'long' ? 5_000 : 100))
const WORKERS = 4
const LENGTH = 30
const histories = submissionHistories({ hashKey, maxLength: LENGTH, firstNumber: 1_000_000, purges: true })
/** How many submissions workers take together, and after how many more the records of a decided purge are removed. */
const paces = fc.record({
  sizes: fc.array(fc.integer({ min: 1, max: 8 }), { minLength: LENGTH, maxLength: LENGTH }),
  removedAfter: fc.array(fc.nat({ max: 6 }), { minLength: LENGTH, maxLength: LENGTH }),
})

const isPurge = (job: SubmissionJob): job is JobOf<'purge_contact'> => job.operation === 'purge_contact'
const rowsOrPurge = (job: SubmissionJob) =>
  isPurge(job) ? { workspaceId: job.workspaceId, purge: purgeRow(hashKey, job) } : toRows(job)

describe('purges among other submissions', () => {
  let schema: TestSchema
  before(async () => {
    schema = await freshSchema(WORKERS)
  })
  after(() => schema.drop())

  const remove = async (job: JobOf<'purge_contact'>): Promise<void> => {
    const { workspaceId, submissionId } = job
    await removePurged(schema.sql, { workspaceId, submissionId }, async () => {})
    const identifiers = { id: null, email: null }
    await settlePurge(schema.sql, { workspaceId, submissionId, attempts: 1, identifiers })
  }

  it(`leave what one careful clerk would have left, whenever their records are removed, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, paces, async (history, { sizes, removedAfter }) => {
        await clearTables(schema.sql)
        const storeNext = storing(schema.sql, history)
        let decided: { job: JobOf<'purge_contact'>; due: number }[] = []
        for (let at = 0, batch = 0; at < history.length; batch++) {
          const taken = history.slice(at, at + sizes[batch]!)
          at += taken.length
          await storeNext(taken.map(rowsOrPurge))
          decided.push(...taken.filter(isPurge).map((job) => ({ job, due: at + removedAfter[batch]! })))
          for (const { job, due } of decided) if (due <= at) await remove(job)
          decided = decided.filter(({ due }) => due > at)
        }
        for (const { job } of decided) await remove(job)
        assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it(`leave the same whoever processes what lies between them, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, schedules, async (history, schedule) => {
        await clearTables(schema.sql)
        const storeNext = storing(schema.sql, history)
        for (const part of betweenPurges(history)) {
          const [first] = part
          if (first && isPurge(first)) {
            await storeNext([rowsOrPurge(first)])
            await remove(first)
          } else await byWorkers(WORKERS, batchesOf(part.map(toRows), schedule), storeNext)
        }
        assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it(`are not undone by what is delivered again, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        await clearTables(schema.sql)
        const storeNext = storing(schema.sql, history)
        for (const job of history) {
          await storeNext([rowsOrPurge(job)])
          if (isPurge(job)) await remove(job)
        }
        const expected = await dumpTables(schema.sql)
        for (const job of history) await store(schema.sql, [rowsOrPurge(job)])
        assert.deepEqual(await dumpTables(schema.sql), expected)
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it(`refuse what comes again after its receipt is gone, at every place of a history, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, fc.nat({ max: LENGTH }), schedules, async (history, place, schedule) => {
        await clearTables(schema.sql)
        const [earlier, later] = [history.slice(0, place), history.slice(place)]
        const storeNext = storing(schema.sql, history)
        for (const job of earlier) {
          await storeNext([rowsOrPurge(job)])
          if (isPurge(job)) await remove(job)
        }
        const expected = await dumpTables(schema.sql)
        await schema.sql`truncate submission`
        const again = earlier.filter((job) => !isPurge(job)).map(toRows)
        for (const batch of batchesOf(again, schedule)) await storeNext(batch)
        assert.deepEqual(await dumpTables(schema.sql), expected)
        for (const job of later) {
          await storeNext([rowsOrPurge(job)])
          if (isPurge(job)) await remove(job)
        }
        assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, history)))
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })
})

describe('a purge of what has replaced something', () => {
  let schema: TestSchema
  before(async () => {
    schema = await freshSchema(1)
  })
  after(() => schema.drop())

  it('keeps away what was replaced, also if it was dead all the time and is replayed only now', async () => {
    const [workspace] = await schema.sql<{ id: string }[]>`select id from workspace`
    const workspaceId = workspace!.id
    const job = <O extends SubmissionJob['operation']>(operation: O, number: number, body: JobOf<O>['body']) =>
      ({ version: JOB_VERSION, operation, workspaceId, submissionId: randomUUID(), number, body }) as JobOf<O>
    const createdAt = '2026-01-01T00:00:00Z'
    const versionsOf = (number: number, contactId?: string) => [
      job(
        'create_feedback',
        number,
        v.parse(feedbackRecord, { description: 'x', sourceId: '1', contactId, isExternalContactId: true }),
      ),
      job(
        'submit_conversation',
        number + 1,
        v.parse(conversationRecord, {
          id: 'c',
          source: 's',
          createdAt,
          contacts: [{ id: 'ada' }, { id: 'stays' }],
          messages: [{ id: 'm', incoming: true, content: 'x', createdAt, contactId }],
        }),
      ),
    ]
    const [former, latter] = [versionsOf(1_000_001), versionsOf(1_000_003, 'ada')]
    const purge = job('purge_contact', 1_000_005, { id: 'ada' })
    await store(schema.sql, latter.map(toRows))
    await store(schema.sql, [rowsOrPurge(purge)])
    await removePurged(schema.sql, { workspaceId, submissionId: purge.submissionId }, async () => {})
    await store(schema.sql, former.map(toRows))
    const left = await schema.sql`select id from feedback union all select id from message`
    assert.equal(left.count, 0)
  })
})

/** A history, cut before and after each purge of whatever workspace. */
const betweenPurges = (history: readonly SubmissionJob[]): SubmissionJob[][] => {
  const cut: SubmissionJob[][] = [[]]
  for (const job of history) {
    if (isPurge(job)) cut.push([job], [])
    else cut.at(-1)!.push(job)
  }
  return cut
}
