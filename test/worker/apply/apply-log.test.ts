import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import type { SubmissionState } from '../../../contract/receipt.ts'
import type { Submission } from '../../../contract/submission.ts'
import { applyStrides } from '../../support/apply-strides.ts'
import { openApplyRig, type ApplyRig } from '../../support/apply-rig.ts'
import { feedbackBody } from '../../support/inject.ts'
import { until } from '../../support/until.ts'
import { hashKey } from '../../support/schema.ts'

const NUL = 'bad \u0000'
const MANY = 10_000
const BAD = 6_107

describe('a worker that applies logs', () => {
  let rig: ApplyRig
  before(async () => {
    rig = await openApplyRig()
  })
  after(() => rig.close())
  afterEach(() => rig.startAfresh())

  const replaced = (count: number): object[] =>
    Array.from({ length: count }, (_, index) =>
      feedbackBody(`number ${index}`, { source: 'desk', sourceId: `record ${index % 10}` }),
    )
  /** Like `replaced`, with one record that no later submission replaces. */
  const withOne = (count: number, index: number, description: string): object[] =>
    replaced(count).with(index, feedbackBody(description))

  const lastOf = (count: number): string[] => Array.from({ length: 10 }, (_, index) => `number ${count - 10 + index}`)
  const descriptionsOf = async (workspaceId: string): Promise<string[]> => {
    const rows = await rig.sql<{ description: string }[]>`
      select description from feedback where workspace_id = ${workspaceId} order by number`
    return rows.map(({ description }) => description)
  }

  it('applies submissions in the order of their numbers, each once', async () => {
    const workspaceId = await rig.makeWorkspace()
    const ids = await rig.admit(workspaceId, replaced(200))
    await rig.apply([workspaceId])
    assert.deepEqual(await rig.statesOf(workspaceId), Object.fromEntries(ids.map((id) => [id, 'applied'])))
    assert.deepEqual(await descriptionsOf(workspaceId), lastOf(200))
    assert.deepEqual(await rig.waitingIn(workspaceId), [])
    assert.deepEqual(new Set(rig.settled.map(({ isDeep }) => isDeep)), new Set([false]))
  })

  it(`passes a long log on to the backlog, ends the one bad submission among ${MANY} as dead, and applies the others in order`, async () => {
    const workspaceId = await rig.makeWorkspace()
    const ids = await rig.admit(workspaceId, withOne(MANY, BAD, NUL))
    await rig.apply([workspaceId])
    assert.deepEqual(await rig.statesOf(workspaceId), {})
    assert.deepEqual(await rig.wokenIn('backlog'), [workspaceId])
    await rig.apply([workspaceId], true)
    const states = await rig.statesOf(workspaceId)
    assert.deepEqual(
      ids.map((id) => states[id]),
      ids.map((_, index): SubmissionState => (index === BAD ? 'dead' : 'applied')),
    )
    assert.deepEqual(
      rig.logged('submission_dead').map(({ submissionId, attempts }) => [submissionId, attempts]),
      [[ids[BAD], 1]],
    )
    assert.deepEqual(await descriptionsOf(workspaceId), lastOf(MANY))
    assert.deepEqual(await rig.waitingIn(workspaceId), [])
  })

  it('passes a log with an unreadable entry on to the backlog, and applies the other logs', async () => {
    const [odd, other] = [await rig.makeWorkspace(), await rig.makeWorkspace()]
    await rig.admit(odd, replaced(1))
    await rig.admit(other, replaced(1))
    await rig.rewriteLog(odd, (entry) => entry.replace(/^1 /, '2 '))
    await rig.apply([odd, other])
    assert.deepEqual(await rig.wokenIn('backlog'), [odd])
    assert.equal((await rig.waitingIn(other)).length, 0)
    await assert.rejects(rig.apply([odd], true), { message: 'Error UNREADABLE_LOG_ENTRY' })
  })

  it('passes a log on to the backlog if it has become deep when the time of the job is over', async () => {
    const workspaceId = await rig.makeWorkspace()
    await rig.admit(workspaceId, replaced(10))
    const goOn = rig.holdPostgres()
    const applying = rig.apply([workspaceId])
    await until('the worker has taken a stride', () => rig.isLeased(workspaceId))
    await rig.admit(workspaceId, replaced(300))
    rig.passTime()
    goOn()
    await applying
    assert.equal((await rig.waitingIn(workspaceId)).length, 300)
    assert.deepEqual(await rig.wokenIn('backlog'), [workspaceId])
  })

  it('wakes a workspace again if another job names it before the answer to the last take', async () => {
    const workspaceId = await rig.makeWorkspace()
    await rig.admit(workspaceId, replaced(10))
    const goOn = rig.holdPostgres()
    const applying = rig.apply([workspaceId])
    await until('the worker has taken a stride', () => rig.isLeased(workspaceId))
    rig.onceIdle(async () => {
      await rig.admit(workspaceId, replaced(1))
      await rig.apply([workspaceId])
    })
    rig.passTime()
    goOn()
    await applying
    assert.equal((await rig.waitingIn(workspaceId)).length, 1)
    assert.deepEqual(await rig.wokenIn('wake'), [workspaceId])
  })

  it('stays with a workspace, applies its next submissions without a job, and then releases the lease', async () => {
    const workspaceId = await rig.makeWorkspace()
    await rig.admit(workspaceId, replaced(1))
    await rig.apply([workspaceId])
    assert.equal(await rig.isLeased(workspaceId), true)
    assert.equal((await rig.waitingIn(workspaceId)).length, 0)
    await rig.admit(workspaceId, replaced(3))
    await until('the worker takes again', async () => (await rig.waitingIn(workspaceId)).length === 0)
    assert.equal(Object.keys(await rig.statesOf(workspaceId)).length, 4)
    await until('the worker leaves', async () => !(await rig.isLeased(workspaceId)))
  })

  it('applies the submissions of a workspace with which it stays before the job ends that names the workspace', async () => {
    const workspaceId = await rig.makeWorkspace()
    await rig.admit(workspaceId, replaced(1))
    await rig.apply([workspaceId])
    await rig.admit(workspaceId, replaced(1))
    await rig.apply([workspaceId])
    assert.equal((await rig.waitingIn(workspaceId)).length, 0)
  })

  it('tries a submission with a passing fault again after a pause, while later submissions wait', async () => {
    const workspaceId = await rig.makeWorkspace()
    const ids = await rig.admit(workspaceId, [feedbackBody('first'), feedbackBody('stubborn'), feedbackBody('last')])
    const relent = await rig.failOn('stubborn', '40001')
    await rig.apply([workspaceId], true)
    assert.deepEqual(await rig.statesOf(workspaceId), { [ids[0]!]: 'applied' })
    assert.equal(rig.logged('apply_failed').length, 1)
    await relent()
    await until('the submission is tried again', async () => {
      await rig.apply([workspaceId], true)
      return Object.keys(await rig.statesOf(workspaceId)).length === 3
    })
    assert.deepEqual(new Set(Object.values(await rig.statesOf(workspaceId))), new Set(['applied']))
  })

  it('ends a submission as dead after two failures in a stride of one, and plans its replay', async () => {
    const workspaceId = await rig.makeWorkspace()
    const ids = await rig.admit(workspaceId, [feedbackBody('stubborn'), feedbackBody('last')])
    const relent = await rig.failOn('stubborn', '40P01')
    await until('the submission is given up', async () => {
      rig.passTime()
      await rig.apply([workspaceId], true)
      return Object.keys(await rig.statesOf(workspaceId)).length === 2
    })
    await relent()
    assert.deepEqual(await rig.statesOf(workspaceId), { [ids[0]!]: 'dead', [ids[1]!]: 'applied' })
    assert.equal(rig.logged('apply_failed').length, 1)
    assert.deepEqual(
      rig.logged('submission_dead').map(({ attempts, fault }) => [attempts, fault]),
      [[2, 'PostgresError 40P01']],
    )
    const retries = await rig.sql`
      select from dead_submission where workspace_id = ${workspaceId} and retry_at between died_at and now() + interval '1 minute'`
    assert.equal(retries.count, 1)
  })

  it('ends a submission as dead when three workers have died with it in quarantine', async () => {
    for (const [deaths, state] of [
      [2, 'applied'],
      [3, 'dead'],
    ] as const) {
      const workspaceId = await rig.makeWorkspace()
      const [first, second] = await rig.admit(workspaceId, [feedbackBody('deadly'), feedbackBody('next')])
      await rig.dieInQuarantine(workspaceId, deaths)
      await rig.apply([workspaceId], true)
      assert.deepEqual(await rig.statesOf(workspaceId), { [first!]: state, [second!]: 'applied' })
    }
    assert.deepEqual(
      rig.logged('submission_dead').map(({ attempts, fault }) => [attempts, fault]),
      [[3, 'GivenUp stalled']],
    )
  })

  it('applies again the submissions that a promoted standby of Postgres lacks', async () => {
    const workspaceId = await rig.makeWorkspace()
    const ids = await rig.admit(workspaceId, [feedbackBody('kept')])
    await rig.apply([workspaceId])
    const restore = await rig.rememberPosition(workspaceId)
    ids.push(...(await rig.admit(workspaceId, [feedbackBody('lost'), feedbackBody('lost too')])))
    await rig.apply([workspaceId])
    await restore()
    ids.push(...(await rig.admit(workspaceId, [feedbackBody('new')])))
    await rig.apply([workspaceId])
    assert.deepEqual(await rig.statesOf(workspaceId), Object.fromEntries(ids.map((id) => [id, 'applied'])))
    assert.deepEqual(await descriptionsOf(workspaceId), ['kept', 'lost', 'lost too', 'new'])
  })

  it('appends again a submission that has a number at or below the position and no receipt', async () => {
    const workspaceId = await rig.makeWorkspace()
    const ids = await rig.admit(workspaceId, [feedbackBody('lost by a failover of Redis')])
    const [lost] = await rig.waitingIn(workspaceId)
    await rig.sql`update workspace_progress set applied_number = ${lost!.number + 5} where workspace_id = ${workspaceId}`
    await rig.apply([workspaceId])
    await until('the submission is applied', async () => (await rig.statesOf(workspaceId))[ids[0]!] === 'applied')
    const [row] = await rig.sql<{ number: string }[]>`select number from feedback where workspace_id = ${workspaceId}`
    assert.ok(Number(row!.number) > lost!.number + 5)
    assert.equal(rig.logged('appended_again').length, 1)
  })

  it('adds the tagging jobs for submissions that a worker applied before it died', async () => {
    const workspaceId = await rig.makeWorkspace()
    await rig.admit(workspaceId, [feedbackBody('The export is slow')])
    const submissions: Submission[] = await rig.waitingIn(workspaceId)
    await applyStrides({ sql: rig.sql, hashKey }, [{ workspaceId, after: 0, submissions }])
    assert.deepEqual(await rig.taggingJobs(), [])
    await rig.apply([workspaceId])
    const ids = submissions.map(({ submissionId }) => submissionId)
    assert.deepEqual(await rig.taggingJobs(), [{ workspaceId, feedbackIds: ids, conversationIds: [] }])
    assert.deepEqual(await rig.waitingIn(workspaceId), [])
  })

  it('adds removal jobs for purges, and continues in the backlog, where it removes the records first', async () => {
    const workspaceId = await rig.makeWorkspace()
    const contact = { id: 'ada', source: 'crm', properties: { $email: 'ada@example.com' } }
    await rig.admit(workspaceId, [contact], 'identify_contact')
    await rig.admit(workspaceId, [feedbackBody('by ada', { contact: { email: 'ada@example.com' } })])
    const [purgeId] = await rig.admit(workspaceId, [{ email: 'ada@example.com' }], 'purge_contact')
    const [later] = await rig.admit(workspaceId, [feedbackBody('later')])
    await rig.apply([workspaceId])
    assert.deepEqual(await rig.removalJobs(), [{ workspaceId, purgeId }])
    assert.equal((await rig.statesOf(workspaceId))[later!], undefined)
    await rig.apply([workspaceId], true)
    assert.equal((await rig.statesOf(workspaceId))[later!], 'applied')
    assert.deepEqual(
      [...(await rig.sql`select description from feedback where workspace_id = ${workspaceId}`)],
      [{ description: 'later' }],
    )
  })

  it('fails without the text of a fault, which can quote content, and releases the lease', async () => {
    const workspaceId = await rig.makeWorkspace()
    await rig.admit(workspaceId, [feedbackBody(NUL)])
    await rig.sql.unsafe(`
      create function quote() returns trigger language plpgsql as $$ begin raise exception 'content'; end $$;
      create trigger quoting before insert on dead_submission for each row execute function quote()`)
    await assert.rejects(rig.apply([workspaceId], true), new Error('PostgresError P0001'))
    assert.equal(await rig.isLeased(workspaceId), false)
    await rig.sql.unsafe('drop trigger quoting on dead_submission; drop function quote')
  })

  it('holds no lease while Postgres is away, and continues when it is back', async () => {
    const workspaceId = await rig.makeWorkspace()
    await rig.admit(workspaceId, [feedbackBody('x')])
    const bringBack = rig.takePostgresAway()
    const applied = rig.apply([workspaceId])
    await until('the lease is released', () => rig.hasReleased(workspaceId))
    bringBack()
    await applied
    // If the outage was longer than the job may take, the job has woken the workspace again.
    await rig.apply(await rig.wokenIn('wake'))
    assert.equal(Object.keys(await rig.statesOf(workspaceId)).length, 1)
  })

  it('releases the leases of workspaces with which it stays when it stops, and wakes those with submissions left', async () => {
    const workspaceId = await rig.makeWorkspace()
    await rig.admit(workspaceId, replaced(1))
    await rig.apply([workspaceId])
    await rig.admit(workspaceId, replaced(1))
    await rig.stop()
    assert.equal(await rig.isLeased(workspaceId), false)
    // On a busy machine the worker has time to apply the submission before it stops.
    const left = await rig.waitingIn(workspaceId)
    assert.deepEqual(await rig.wokenIn('wake'), left.length > 0 ? [workspaceId] : [])
  })
})
