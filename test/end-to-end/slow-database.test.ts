import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { ownWorkspace } from '../support/own-workspace.ts'
import { sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const service = await sharedService()
after(() => service.stop())

/** Longer than answers wait for what they can leave out. */
const SLOW_MS = 2_000

describe('while a look-up takes seconds, as on a busy machine', () => {
  /** Begins the request while the table is locked, and unlocks it `SLOW_MS` after it waits. */
  const whileSlow = async <T>(table: string, request: () => Promise<T>): Promise<T> => {
    const transaction = await service.all.reserve()
    await transaction.unsafe(`begin; lock table ${table} in access exclusive mode`)
    const [{ pid }] = await transaction<[{ pid: number }]>`select pg_backend_pid() as pid`
    const answer = request()
    await until('a look-up waits', async () => {
      const waiting = await service.all`select from pg_stat_activity where ${pid} = any (pg_blocking_pids(pid))`
      return waiting.count > 0
    })
    await pause(SLOW_MS)
    await transaction.unsafe('commit')
    transaction.release()
    return answer
  }

  it('a request with a new token waits for its token, and is accepted', async () => {
    const { accessToken } = await ownWorkspace({ sql: service.all, urls: service.urls })
    const { status, text } = await whileSlow('token', () =>
      service.post('/feedbacks', { description: 'x' }, { token: accessToken }),
    )
    assert.equal(status, 201, text)
  })

  it('a purge waits for the contact, and is accepted', async () => {
    const own = await ownWorkspace({ sql: service.all, urls: service.urls })
    await own.submit('/contacts/identify', { id: 'ann' })
    const { status, text } = await whileSlow('contact_external_id', () =>
      own.post('/contacts/purge', { id: 'ann' }, { token: own.adminToken }),
    )
    assert.equal(status, 200, text)
  })
})
