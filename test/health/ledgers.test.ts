import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { beginDeletion } from '../../db/workspaces/delete-workspace.ts'
import { createWorkspace } from '../../db/workspaces/workspaces.ts'
import { createLedgers, type Ledgers } from '../../health/ledgers.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { listLogs } from '../../queue/log/groups.ts'
import { readLogTotals } from '../../queue/log/log-totals.ts'
import { sweepLogs } from '../../queue/log/sweep.ts'
import { openQueueRoom, requestFor } from '../support/queue-room.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'

const WORKSPACES = 7

describe('the ledgers', () => {
  const room = openQueueRoom()
  const { redis, prefix } = room
  let schema: TestSchema
  const ids: string[] = []
  before(async () => {
    schema = await freshSchema(1)
    await schema.sql`delete from workspace`
    for (let count = 0; count < WORKSPACES; count++) ids.push((await createWorkspace(schema.sql, randomUUID()))!.id)
    ids.sort()
  })
  after(async () => {
    await room.close()
    await schema.drop()
  })

  const ledgersOf = (readAtOnce?: number): Ledgers => createLedgers({ sql: schema.sql, redis, prefix }, readAtOnce)
  const readIn = async ({ read }: Ledgers) => {
    const all = await read(await readLogTotals(redis, prefix, await listLogs(redis, prefix)))
    return Object.fromEntries(all.map(({ workspaceId, accepted, queued }) => [workspaceId, [accepted, queued]]))
  }
  const admit = (workspaceId: string) => room.admit(requestFor({ workspaceId }))

  it('are all known after one read, unless there are many', async () => {
    assert.deepEqual(Object.keys(await readIn(ledgersOf())).toSorted(), ids)
    const few = ledgersOf(3)
    const known: number[] = []
    for (let read = 0; read < 3; read++) known.push(Object.keys(await readIn(few)).length)
    assert.deepEqual(known, [3, 6, WORKSPACES])
    assert.equal(few.names()?.size, WORKSPACES)
  })

  it('of workspaces with entries are read each time, also once after the last entry has gone', async () => {
    const ledgers = ledgersOf(1)
    const last = ids.at(-1)!
    await admit(last)
    assert.deepEqual((await readIn(ledgers))[last], [1, 1])
    await room.noteAllApplied(last)
    await sweepLogs(redis, prefix, { workspaceIds: [last], waitedMs: 0, redoMs: 0 })
    assert.deepEqual(await listLogs(redis, prefix), [])
    assert.deepEqual((await readIn(ledgers))[last], [1, 0])
  })

  it('of idle workspaces follow in turn', async () => {
    const ledgers = ledgersOf(3)
    for (let read = 0; read < 3; read++) await readIn(ledgers)
    await redis.hset(workspaceKeys(prefix, ids[4]!).state, 'appended', 5)
    assert.deepEqual((await readIn(ledgers))[ids[4]!], [0, 0])
    assert.deepEqual((await readIn(ledgers))[ids[4]!], [5, 5])
  })

  it('of a deleted workspace are forgotten after a round', async () => {
    const ledgers = ledgersOf(3)
    const round = async () => {
      for (let read = 0; read < 3; read++) await readIn(ledgers)
    }
    await round()
    await beginDeletion(schema.sql, ids[1]!)
    await round()
    assert.ok(!Object.keys(await readIn(ledgers)).includes(ids[1]!))
    assert.ok(!ledgers.names()!.has(ids[1]!))
  })
})
