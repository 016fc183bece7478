import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { readLedgers } from '../support/ledgers.ts'
import { damage } from '../support/recovery.ts'
import { PURGED, type Restoration, restoreUnderLoad, SOURCE_IDS } from '../support/restoration.ts'
import { findTraces } from '../support/traces.ts'

describe('a Postgres that was restored to a point in time, with the purges since repeated', () => {
  let restored: Restoration
  before(async () => {
    restored = await restoreUnderLoad()
  })
  after(() => restored.stop())

  it('has all from before once and nothing from after', async () => {
    const { service, restoredMs, goesOnMs, ...seen } = restored
    assert.deepEqual(await damage(service.sql, seen.before), { lost: 0, doubled: 0 })
    const gone = seen.after.accepted.size
    assert.deepEqual(await damage(service.sql, seen.after), { lost: gone, doubled: 0 })
    console.log(
      `${seen.before.accepted.size} before the point in time are there once, ${gone} after it are gone; ` +
        `restored in ${Math.round(restoredMs)} ms, goes on after ${Math.round(goesOnMs)} ms`,
    )
  })

  it('has no byte of whom a purge removed, before or after', async () => {
    const { service, output } = restored
    assert.deepEqual(await findTraces({ ...service, output }, PURGED), [])
  })

  it('is known by the doctor to miss what came after', async () => {
    const { service } = restored
    const [ledger] = await readLedgers(service.sql, service.redis, service.redisPrefix)
    // With those that were accepted beside the load: a feedback and a purge.
    assert.equal(ledger!.difference, restored.after.accepted.size + 2)
    const { stdout } = await runCommand(service, 'cli/doctor/doctor-command.ts')
    assert.match(stdout, new RegExp(`missing from the books: default ${ledger!.difference}\\.`))
  })

  it('goes on with higher numbers, and takes what is sent again once', async () => {
    const { service, url, since, highest } = restored
    for (const sourceId of SOURCE_IDS) {
      const answer = await fetch(`${url}/api/v1/feedbacks`, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          Authorization: `Bearer ${service.accessToken}`,
          Prefer: 'wait=20',
        },
        body: JSON.stringify({ description: 'staying says', sourceId, source: 'desk' }),
      })
      assert.equal(answer.headers.get('Submission-State'), 'applied', await answer.text())
    }
    const [row] = await service.sql<[{ said: number; lowest: string }]>`
      select (select count(*)::int from feedback where description = 'staying says') as said,
        (select min(acceptance_number) from submission where id = any (${[...since.accepted.keys()]}::uuid[])) as lowest`
    assert.equal(row.said, SOURCE_IDS.length)
    assert.ok(BigInt(row.lowest) > highest, 'acceptance numbers went back')
  })
})
