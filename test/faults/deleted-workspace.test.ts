import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { residueOfWorkspace } from '../../cli/purge/residue-of-workspace.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { runCommand } from '../support/command.ts'
import { readLedger } from '../support/ledgers.ts'
import { amongKills } from '../support/often-killed.ts'
import { ownWorkspace } from '../support/own-workspace.ts'
import { type Service, startService } from '../support/service.ts'
import { startProcess } from '../support/service-process.ts'
import { assertEqualsModel, submitHistory } from '../support/submitted-history.ts'
import { until } from '../support/until.ts'

/** A worker holds the lease of its log. */
const isLeased = async ({ redis, redisPrefix, workspaceId }: Service): Promise<boolean> =>
  (await redis.hget(workspaceKeys(redisPrefix, workspaceId).state, 'holder')) !== null

const LONG = process.env['TEST_SIZE'] === 'long'
const LEAVING = Number(process.env['LEAVING_SUBMISSIONS'] ?? (LONG ? 10_000 : 400))
const STAYING = LONG ? 1_000 : 100
const AT_ONCE = 16
const PURGE_EVERY = 200
const AT = '2026-01-01T00:00:00Z'

/** Submissions of every operation, about different contacts; the first and some of the others are purged. */
const leavingSubmission = (index: number): { path: string; body: object } => {
  const contact = { id: `contact ${index}`, properties: { $email: `c${index}@example.com` } }
  const messages = [{ id: 'm', incoming: true, contactId: contact.id, content: 'x', createdAt: AT }]
  if (index % PURGE_EVERY === 1) return { path: '/contacts/purge', body: { email: `c${index - 1}@example.com` } }
  if (index % 5 === 3) return { path: '/contacts/identify', body: contact }
  if (index % 10 === 2) {
    const properties = { $name: `Account ${index}`, $domain: `d${index}.example` }
    return { path: '/accounts/identify', body: { id: `account ${index}`, properties } }
  }
  if (index % 10 === 7)
    return {
      path: '/conversations',
      body: { id: `c${index}`, source: 'chat', createdAt: AT, contacts: [contact], messages },
    }
  return { path: '/feedbacks', body: { description: `feedback ${index}`, contact: { email: `c${index}@example.com` } } }
}

describe('a workspace that is deleted while workers are killed', () => {
  let service: Service
  let leaving: Service
  before(async () => {
    service = await startService({ workers: 0, apis: 2, environment: { CONVERSATIONS_PER_MINUTE: '1000000' } })
    // Generated tags depend on the order; here nothing may.
    await service.queues.tagging.pause()
    leaving = await ownWorkspace(service, 'leaving')
  })
  after(() => service?.stop())

  const fill = async (): Promise<void> => {
    let next = 0
    const client = async (api: number): Promise<void> => {
      while (next < LEAVING) {
        const { path, body } = leavingSubmission(next++)
        const headers: Record<string, string> = next % 3 === 0 ? { 'Idempotency-Key': `key-${next}` } : {}
        const answer = await leaving.post(path, body, { api, headers, token: leaving.adminToken })
        const isNobody = path === '/contacts/purge' && answer.status === 404
        assert.ok(answer.status === 200 || answer.status === 201 || isNobody, answer.text)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => client(at % service.urls.length)))
  }
  const queued = async (): Promise<number> => (await readLedger(leaving)).queued
  const residue = () => residueOfWorkspace({ ...service, prefix: service.redisPrefix }, leaving.workspaceId)

  it(`leaves nothing of ${LEAVING} submissions that are queued and in hand, and another's are stored as the model has them`, async () => {
    const [, confirmed] = await Promise.all([fill(), submitHistory(service, STAYING, { purges: !LONG })])
    const queuedThen = await queued()
    assert.ok(queuedThen > LEAVING * 0.9)
    const holder = await service.sql.reserve()
    await holder`begin`
    await holder`select from workspace_progress where workspace_id = ${leaving.workspaceId} for update`
    const [held] = await holder<{ pid: number }[]>`select pg_backend_pid() as pid`
    const waitsForTheRow = (): Promise<unknown> =>
      until('the deletion waits for the row', async () => {
        const waiting = await service.sql`
          select from pg_stat_activity where ${held!.pid} = any (pg_blocking_pids(pid))`
        return waiting.count > 0
      })
    const { result, deaths } = await amongKills({ environment: service.environment }, async () => {
      await until('a worker has it in hand', async () => isLeased(leaving))
      const deleting = runCommand(service, 'cli/workspace-command.ts', 'delete', 'leaving', '--yes')
      await waitsForTheRow()
      assert.ok((await queued()) > 0)
      await holder`rollback`
      holder.release()
      return deleting
    })
    assert.equal(result.code, 0, result.stderr)
    console.log(`${queuedThen} queued, ${deaths.killed} deaths: ${result.stdout.trim().split('\n').at(-2)}`)
    assert.ok(deaths.killed > 0)
    assert.deepEqual(await residue(), { rows: [], keys: 0 })
    assert.equal(await service.queues.wake.getFailedCount(), 0)

    const worker = await startProcess('worker/main.ts', 'working', { ...service.environment })
    try {
      await assertEqualsModel(service, confirmed)
    } finally {
      await worker.stop()
    }
    assert.deepEqual(await residue(), { rows: [], keys: 0 })
  })
})
