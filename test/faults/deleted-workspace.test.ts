import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { residueOfWorkspace } from '../../cli/purge/residue-of-workspace.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { runCommand } from '../support/command.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { readLedger } from '../support/ledgers.ts'
import { ownWorkspace } from '../support/own-workspace.ts'
import { type Service, startService } from '../support/service.ts'
import { assertEqualsModel, submitHistory } from '../support/submitted-history.ts'
import { until } from '../support/until.ts'
import { type Crew, startCrew } from '../support/worker-crew.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const LEAVING = Number(process.env['LEAVING_SUBMISSIONS'] ?? (LONG ? 10_000 : 400))
const STAYING = LONG ? 1_000 : 100

describe('a workspace that is deleted while workers are killed', () => {
  let service: Service
  let leaving: Service
  let crew: Crew
  before(async () => {
    service = await startService({ workers: 0, apis: 2, environment: { CONVERSATIONS_PER_MINUTE: '1000000' } })
    // Without generated tags, since the result must not depend on the order.
    await service.queues.tagging.pause()
    leaving = await ownWorkspace(service, 'leaving')
    await holdWork(service.queues)
    crew = await startCrew(3, service.environment)
  })
  after(async () => {
    await crew?.stop()
    await service?.stop()
  })

  /** A worker holds the lease of its log. */
  const isLeased = async ({ redis, redisPrefix, workspaceId }: Service): Promise<boolean> =>
    (await redis.hget(workspaceKeys(redisPrefix, workspaceId).state, 'holder')) !== null
  const queued = async (): Promise<number> => (await readLedger(leaving)).queued
  const residue = () => residueOfWorkspace({ ...service, prefix: service.redisPrefix }, leaving.workspaceId)

  it(`leaves no data of ${LEAVING} submissions that are queued or in hand, and another workspace has the rows of the model`, async () => {
    const [, { confirmed }] = await Promise.all([
      submitHistory(leaving, LEAVING, { purges: false }),
      submitHistory(service, STAYING, { purges: false }),
    ])
    assert.ok((await queued()) >= LEAVING)
    const holder = await service.sql.reserve()
    await holder`begin`
    await holder`set local idle_in_transaction_session_timeout = 0`
    await holder`select from workspace_progress where workspace_id = ${leaving.workspaceId} for update`
    const [held] = await holder<{ pid: number }[]>`select pg_backend_pid() as pid`
    await resumeWork(service.queues)
    const deleted = await crew.killWhile(
      (async () => {
        await until('a worker has the workspace in hand', async () => isLeased(leaving))
        const deleting = runCommand(service, 'cli/workspace-command.ts', 'delete', 'leaving', '--yes')
        await until('the deletion waits for the row', async () => {
          const waiting = await service.sql`
            select from pg_stat_activity where ${held!.pid} = any (pg_blocking_pids(pid))`
          return waiting.count > 0
        })
        assert.ok((await queued()) > 0)
        await holder`rollback`
        holder.release()
        return deleting
      })(),
    )
    assert.equal(deleted.code, 0, deleted.stderr)
    assert.ok(crew.deaths().killed > 0)
    assert.deepEqual(await residue(), { rows: [], keys: 0 })
    assert.equal(await service.queues.wake.getFailedCount(), 0)
    await assertEqualsModel(service, confirmed)
    assert.deepEqual(await residue(), { rows: [], keys: 0 })
  })
})
