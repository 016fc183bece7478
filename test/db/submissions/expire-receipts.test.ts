import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { expireReceipts, findMissingReceipts } from '../../../db/submissions/receipts.ts'
import { freshSchema, makeWorkspaces } from '../../support/schema.ts'

const schema = await freshSchema()
after(() => schema.drop())

const MS_PER_DAY = 86_400_000

/** An id in the form of the queue: its first 48 bits are the time of acceptance. */
const idOf = (time: number): string => {
  const hex = time.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${randomUUID().slice(15)}`
}

describe('receipts', () => {
  it('expire some days after acceptance; those of queued, recently replayed and kept dead submissions stay', async () => {
    const workspaces = [randomUUID(), randomUUID()]
    await makeWorkspaces(schema.sql, workspaces)
    const add = async (
      workspaceId: string,
      days: number,
      { state = 'applied', finishedDays = days }: { state?: string; finishedDays?: number } = {},
    ): Promise<string> => {
      const time = Date.now() - days * MS_PER_DAY
      const id = idOf(time)
      await schema.sql`
        insert into submission (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
        values (${workspaceId}, ${id}, ${time * 1_000}, 'create_feedback', ${state}, 1,
          ${new Date(Date.now() - finishedDays * MS_PER_DAY)})`
      return id
    }
    const addDead = async (workspaceId: string, days: number): Promise<string> => {
      const id = await add(workspaceId, days, { state: 'dead' })
      await schema.sql`
        insert into dead_submission (workspace_id, id, reason, submission, keys) values (${workspaceId}, ${id}, 'x', '{}', '{}')`
      return id
    }
    const [one, other] = workspaces as [string, string]
    const expired = [
      await add(one, 9),
      await add(one, 8.1, { state: 'superseded' }),
      await add(other, 100, { state: 'purged' }),
      // An operator has dropped this dead submission.
      await add(other, 9, { state: 'dead' }),
    ]
    const kept = [
      await add(one, 7.9),
      await addDead(one, 9),
      await add(one, 9, { state: 'queued' }),
      await add(one, 9, { finishedDays: 1 }),
    ]
    assert.equal(await expireReceipts(schema.sql, 8), expired.length)
    const left = await schema.sql<{ id: string }[]>`select id from submission`
    assert.deepEqual(left.map(({ id }) => id).toSorted(), kept.toSorted())
    assert.deepEqual(await findMissingReceipts(schema.sql, one, [expired[0]!, ...kept]), [expired[0]])
    assert.equal(await expireReceipts(schema.sql, 8), 0)
  })
})
