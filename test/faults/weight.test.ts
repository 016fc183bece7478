import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type AttackReport,
  type Attackers,
  type Bounds,
  makeAttackers,
  ONE_EMAIL,
  startBystander,
} from '../support/attackers.ts'
import { DEAREST } from '../support/dearest-bodies.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { readLedgers } from '../support/ledgers.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
/** Attackers send for this long, or until each has sent this much. */
const BOUNDS: Bounds = {
  connections: LONG ? 16 : 8,
  seconds: LONG ? 60 : 3,
  most: LONG ? 50_000 : 5_000,
  mostBytes: LONG ? 100_000_000 : 3_000_000,
}
/** JSON, in which an attacker gets its bounds, has no Infinity. */
const NO_BOUND = 1e12
const BACKLOG: Bounds = { connections: 32, seconds: 600, most: LONG ? 200_000 : 6_000, mostBytes: NO_BOUND }
/** Ordinary feedback for three workspaces that a test makes slow. */
const SLOW = [ONE_EMAIL, ONE_EMAIL, ONE_EMAIL]
const SLOW_BOUNDS: Bounds = { connections: BOUNDS.connections, seconds: 60, most: 400, mostBytes: NO_BOUND }
/**
 * The positions of the slow workspaces are locked for at least this long. At full size, that is
 * longer than a statement may take.
 */
const LOCKED_MS = LONG ? 70_000 : 4_000
/** At full size, a statement with 250 rows exceeds its time limit. */
const SLOW_ROW_SECONDS = LONG ? 0.3 : 0.02
/**
 * This many submissions of another workspace are applied before the heavy work ends. A starved
 * workspace would have one or two.
 */
const SERVED_MEANWHILE = 5
const PURGED_FEEDBACK = 20

/** The submissions with the highest cost for their bytes, three at a time. */
const ATTACKS = Array.from({ length: LONG ? Math.ceil(DEAREST.length / 3) : 1 }, (_, group) =>
  DEAREST.slice(3 * group, 3 * group + 3).map(({ title }) => title),
)

describe('the load of some workspaces', () => {
  let service: Service
  before(async () => {
    service = await startService()
  })
  after(() => service?.stop())

  const isDrained = async ({ workspaceIds }: Attackers): Promise<boolean> => {
    const ledgers = await readLedgers(service.sql, service.redis, service.redisPrefix)
    return ledgers.every(({ workspaceId, queued }) => queued === 0 || !workspaceIds.includes(workspaceId))
  }

  /**
   * Asserts that another workspace is served during the work of attackers, and that the accepted
   * submissions of attackers are applied in the end.
   */
  const assertHarmless = async (attackers: Attackers, work: () => Promise<AttackReport[]>): Promise<void> => {
    const bystander = startBystander(service)
    const reports = await work()
    await until('all submissions are settled', () => isDrained(attackers))
    const meanwhile = bystander.served()
    await bystander.stop()
    assert.deepEqual(bystander.failed, [])
    assert.ok(meanwhile >= SERVED_MEANWHILE, `${meanwhile} submissions of another workspace were applied meanwhile`)
    const { workspaceIds } = attackers
    const all = await readLedgers(service.sql, service.redis, service.redisPrefix)
    const ledgers = all.filter(({ workspaceId }) => workspaceIds.includes(workspaceId))
    const reported = reports.reduce((sum, one) => sum + one.accepted, 0)
    assert.ok(reported > 0 && ledgers.reduce((sum, one) => sum + one.accepted, 0) >= reported)
    assert.ok(
      ledgers.every(({ dead, difference }) => dead === 0 && difference === 0),
      JSON.stringify(ledgers),
    )
    console.log(`${reported} submissions of attackers; ${meanwhile} of another workspace applied meanwhile`)
  }

  for (const attacks of ATTACKS)
    it(`burdens no other workspace: ${attacks.join('; ')}`, async () => {
      const attackers = await makeAttackers(service, attacks)
      await assertHarmless(attackers, () => attackers.send(BOUNDS))
    })

  it(`burdens no other workspace when ${BACKLOG.most} feedback of one email wait; a purge of another workspace finishes earlier`, async () => {
    const { submit, post, queues, adminToken, sql } = service
    const email = 'leaver@example.com'
    for (let at = 0; at < PURGED_FEEDBACK; at++)
      await submit('/feedbacks', { description: `Leaves ${at}`, tags: [], contact: { email } })
    const attackers = await makeAttackers(service, [ONE_EMAIL])
    await holdWork(queues)
    const reports = await attackers.send(BACKLOG)
    await assertHarmless(attackers, async () => {
      await resumeWork(queues)
      const accept = async () => (await post('/contacts/purge', { email }, { token: adminToken })).status === 200
      await until('a purge is accepted', accept)
      const isFinished = async () =>
        (await sql`select from submission where operation = 'purge_contact' and state = 'applied'`).count > 0
      await until('the purge is finished', isFinished)
      assert.equal(await isDrained(attackers), false, 'the purge waited for the backlog of another workspace')
      const left = await sql`select from feedback where description like 'Leaves %'`
      assert.equal(left.count, 0)
      return reports
    })
  })

  it(`burdens no other workspace while their positions are locked for ${LOCKED_MS / 1_000} s`, async () => {
    const slow = await makeAttackers(service, SLOW)
    const locks = await service.sql.reserve()
    await locks`begin`
    await locks`set local idle_in_transaction_session_timeout = 0`
    // Saves in these workspaces wait for these rows.
    await locks`
      select from workspace_progress where workspace_id = any (${slow.workspaceIds as string[]}::uuid[]) for update`
    await assertHarmless(slow, async () => {
      const reports = await slow.send(SLOW_BOUNDS)
      await pause(LOCKED_MS)
      await locks`rollback`
      locks.release()
      return reports
    })
  })

  it(`burdens no other workspace when each of their rows takes ${SLOW_ROW_SECONDS} s`, async () => {
    const { sql } = service
    const slow = await makeAttackers(service, SLOW)
    await sql`
      create function slow_down() returns trigger language plpgsql as $$
      begin perform pg_sleep(tg_argv[0]::float); return new; end $$`
    for (const [place, id] of slow.workspaceIds.entries()) {
      await sql.unsafe(`
        create trigger slow_${place} before insert on feedback for each row when (new.workspace_id = '${id}')
        execute function slow_down(${SLOW_ROW_SECONDS})`)
    }
    await assertHarmless(slow, () => slow.send(SLOW_BOUNDS))
  })
})
