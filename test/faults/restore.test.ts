import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { readLedger } from '../support/ledgers.ts'
import { damage, untilMoreAccepted, recovery, startLoad } from '../support/load.ts'
import { type Disaster, makeDisaster, OTHER, PURGED, type Served, storedIds } from '../support/restoration.ts'
import { submissionIdOf } from '../support/service.ts'
import { findTraces } from '../support/traces.ts'
import { until } from '../support/until.ts'

describe('a database that is restored to a point in time', () => {
  let disaster: Disaster
  let served: Served | undefined
  before(async () => {
    disaster = await makeDisaster()
  })
  after(async () => {
    await served?.end()
    await disaster?.stop()
  })

  /**
   * Restores the database, and starts the service under load. Asserts that purges hold, numbers grow,
   * and submissions that were stored before the moment exist.
   */
  const restore = async (): Promise<Served & { held: Set<string> }> => {
    const { service, run, purgesFile, stored, highest } = disaster
    const { sql } = service
    await disaster.restore()
    assert.equal(await run('cli/migrate-command.ts'), 'The database is up to date.\n')
    const named = async (name: string) => (await sql`select from contact where name = ${name}`).count
    assert.deepEqual([await named(PURGED.before), await named(PURGED.after)], [0, 1], 'only the first purge is kept')
    assert.match(await run('cli/purge/replay-command.ts', purgesFile), /\b1 contacts purged again\./)
    served = await disaster.serve()
    const load = startLoad(served)
    await untilMoreAccepted(load, 50)
    await load.stop()
    assert.deepEqual(load.seen.wrong, [])
    await recovery(served, load.seen)
    await until('no submission is queued', async () => (await readLedger(service)).queued === 0)
    const [{ lowest }] = await sql<[{ lowest: number }]>`
      select min(acceptance_number)::float8 as lowest from submission
      where id = any (${[...load.seen.accepted]}::uuid[])`
    assert.ok(lowest > highest, 'acceptance numbers went back')
    const held = await storedIds(service)
    assert.deepEqual(
      [...stored.before.difference(held)],
      [],
      'all submissions that were stored before the moment exist',
    )
    const purged = Object.values(PURGED)
    assert.deepEqual(await findTraces(served, purged), [])
    await run('cli/purge/verify-command.ts', ...purged.flatMap((text) => ['--text', text]))
    assert.equal(await named(OTHER), 1, 'another contact stays')
    return { ...served, held }
  }

  const send = async ({ submit }: Served, sourceId: string, key?: string): Promise<string> => {
    const headers = { ...(key !== undefined && { 'Idempotency-Key': key }) }
    return submissionIdOf(await submit('/feedbacks', { description: sourceId, sourceId }, { headers }))
  }
  const assertOnceAndTagged = async ({ sql }: Served): Promise<void> => {
    assert.equal((await damage({ sql }, new Set())).doubled, 0)
    const again = await sql`select from feedback where source_id in ('lost', 'kept')`
    assert.equal(again.count, 2, 'repeated submissions are stored')
    // Redis may have finished or lost the tagging jobs of the last records before the moment.
    await disaster.run('cli/retag/retag-command.ts')
    const untagged = await sql`select from feedback where tags_generated and tagger_version is null`
    assert.equal(untagged.count, 0)
  }
  const doctorSays = async (): Promise<string> =>
    disaster.run('cli/doctor/doctor-command.ts').catch((error: Error) => error.message)

  it('with the same Redis also has the waiting submissions, and the doctor counts the lost ones', async () => {
    const restored = await restore()
    const { confirmed, waiting, stored } = disaster
    assert.deepEqual([...waiting.difference(restored.held)], [], 'the submissions that waited in Redis are stored')
    const lost = confirmed.difference(restored.held)
    assert.ok(stored.after.size > 0)
    assert.deepEqual([...lost.intersection(stored.after)], [], 'the log has the submissions after the last purge')
    assert.equal((await readLedger(restored)).difference, lost.size)
    assert.match(await doctorSays(), new RegExp(`neither queued nor finished: default ${lost.size}\\.`))
    // `send` would wait for a receipt.
    const headers = { 'Idempotency-Key': 'key-of-lost' }
    const again = await restored.post('/feedbacks', { description: 'lost', sourceId: 'lost' }, { headers })
    const id = submissionIdOf(again)
    assert.ok(lost.has(id), 'Redis knows the key for a day')
    const receipt = await restored.get(`/api/v1/submissions/${id}`)
    assert.equal(receipt.status, 404)
    await send(restored, 'lost', 'another-key')
    await send(restored, 'lost')
    await send(restored, 'kept')
    await assertOnceAndTagged(restored)
    await served!.end()
    served = undefined
  })

  it('with an empty Redis also lacks the waiting submissions, and the doctor cannot count the lost ones', async () => {
    const { confirmed, waiting, service } = disaster
    await service.redis.flushall()
    const restored = await restore()
    assert.deepEqual([...waiting.intersection(restored.held)], [], 'no submission that waited in Redis comes back')
    assert.equal((await readLedger(restored)).difference, -restored.held.intersection(confirmed).size)
    assert.match(await doctorSays(), /In 1 workspace Postgres has more submissions than Redis has accepted\./)
    assert.ok(!confirmed.has(await send(restored, 'lost', 'key-of-lost')))
    assert.ok(confirmed.has(await send(restored, 'kept', 'key-of-kept')), 'Postgres knows the key for a day')
    await send(restored, 'kept')
    await assertOnceAndTagged(restored)
  })
})
