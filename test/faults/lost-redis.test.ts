import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { workspaceKeys } from '../../queue/keys.ts'
import { listWorkspaceIds } from '../../db/workspaces.ts'
import { runCommand } from '../support/command.ts'
import { type FaultStack, startFaultStack } from '../support/fault-stack.ts'
import { moreIsAccepted, nothingSeen, type Seen, startLoad } from '../support/load.ts'
import { assertNothingLost, assertWellAnswered, damage, recovery } from '../support/recovery.ts'
import { requestsTo } from '../support/service.ts'
import { until } from '../support/until.ts'

type Fault = {
  readonly title: string
  readonly options: Parameters<typeof startFaultStack>[0]
  readonly isLossy: boolean
  /** Ends Redis, which is started again. */
  readonly strike: (stack: FaultStack) => Promise<unknown>
}

const kill = (stack: FaultStack) => stack.strike('redis', 'SIGKILL', 0)

/** Rows of the table in docs/operate.md; a Redis that is killed with `everysec` is in crash-matrix.test.ts. */
const FAULTS: readonly Fault[] = [
  {
    title: 'a Redis with appendfsync always that is killed',
    options: { appendFsync: 'always' },
    isLossy: false,
    strike: kill,
  },
  {
    title: 'a Redis without an append-only file that is killed',
    options: { redisSettings: ['appendonly no'] },
    isLossy: true,
    strike: kill,
  },
  {
    title: 'a Redis that loses its data',
    options: {},
    isLossy: true,
    strike: async ({ redis, kept }) => {
      const [, directory] = (await redis.config('GET', 'dir')) as [string, string]
      await kept.redis.hold()
      rmSync(join(directory, 'appendonlydir'), { recursive: true })
      kept.redis.letGo()
    },
  },
]

for (const { title, options, isLossy, strike } of FAULTS) {
  describe(title, () => {
    let stack: FaultStack
    before(async () => {
      stack = await startFaultStack(options)
    })
    after(() => stack?.stop())

    if (strike === kill)
      it('has everything when API and worker are killed under load', async () => {
        const load = startLoad(stack)
        await moreIsAccepted(load)
        await Promise.all([stack.strike('api', 'SIGKILL', 0), stack.strike('worker', 'SIGKILL', 0)])
        await moreIsAccepted(load)
        await load.stop()
        await recovery(stack, load.seen)
        await assertNothingLost(stack, load.seen)
      })

    it(`has ${isLossy ? 'what was stored, and numbers and ids go on' : 'everything'}`, async () => {
      const { sql, redis, prefix, kept } = stack
      const { post, settled } = requestsTo([stack.url], stack.accessToken, sql)
      const say = (sourceId: string) => post('/feedbacks', { description: sourceId, sourceId })
      await settled(await say('stored'))
      const load = startLoad(stack)
      await moreIsAccepted(load)
      await kept.worker.hold()
      const stored = await storedOf(stack, load.seen)
      const { size } = load.seen.accepted
      await moreIsAccepted(load)
      assert.equal((await say('waiting')).status, 201)
      const [workspaceId] = await listWorkspaceIds(sql)
      const highest = Number(await redis.hget(workspaceKeys(prefix, workspaceId!).state, 'number'))
      // From those in flight on; none of these is stored.
      const waiting = [...load.seen.accepted.keys()].slice(size + 4)
      await strike(stack)
      kept.worker.letGo()
      await until('Redis is there again', async () => (await redis.ping()) === 'PONG')
      const { size: sizeBefore } = load.seen.accepted
      await moreIsAccepted(load)
      await load.stop()
      const later = { ...nothingSeen(), accepted: new Map([...load.seen.accepted].slice(sizeBefore + 4)) }
      assertWellAnswered(load.seen)
      await recovery(stack, isLossy ? later : load.seen)
      for (const sourceId of ['stored', 'waiting']) await settled(await say(sourceId))
      const again = await sql`select from feedback where source_id in ('stored', 'waiting')`
      assert.equal(again.count, 2, 'what is sent again is there once')
      const [{ lowest }] = await sql<[{ lowest: number }]>`
        select min(acceptance_number)::float8 as lowest from submission
        where id = any (${[...later.accepted.keys()]}::uuid[])`
      assert.ok(lowest > highest, 'acceptance numbers went back')
      const { lost, doubled } = await damage(sql, load.seen)
      console.log(`${title}: ${load.seen.accepted.size} confirmed, ${lost} of them lost, ${doubled} doubled`)
      if (!isLossy) return assertNothingLost(stack, load.seen)
      assert.deepEqual(await damage(sql, stored), { lost: 0, doubled: 0 })
      assert.deepEqual(await damage(sql, later), { lost: 0, doubled: 0 })
      const gone = await sql`select from submission where id = any (${waiting}::uuid[])`
      assert.equal(gone.count, 0, 'Redis alone had it')
      const { stdout } = await runCommand(stack, 'cli/doctor/doctor-command.ts')
      assert.match(stdout, /Postgres has more submissions than Redis has accepted/)
      if (options?.redisSettings !== undefined) assert.match(stdout, /^wrong +Redis has no append-only file/m)
      return undefined
    })
  })
}

/** Those of the accepted that Postgres has. */
const storedOf = async ({ sql }: FaultStack, { accepted }: Seen): Promise<Seen> => {
  const rows = await sql<{ id: string }[]>`
    select id from submission where id = any (${[...accepted.keys()]}::uuid[]) and state <> 'queued'`
  return { ...nothingSeen(), accepted: new Map(rows.map(({ id }) => [id, accepted.get(id)!])) }
}
