import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sql } from '../../../db/connection/postgres.ts'
import { createNumberFloor } from '../../../db/submissions/number-floor.ts'
import { type SharedService, sharedService } from '../../support/shared-service.ts'

/** A number in the far future, as if Redis's clock had been set back. */
const FAR = 4_000_000_000_000_000

describe('the floor of acceptance numbers', () => {
  let service: SharedService
  before(async () => {
    service = await sharedService()
    await service.all`
      update workspace_progress set applied_number = ${FAR} where workspace_id = ${service.workspaceId}`
  })
  after(() => service.stop())

  it('is the position in Postgres, although Redis knows no position', async () => {
    const answers = [
      await service.submit('/feedbacks', { description: 'x' }),
      await service.submit('/feedbacks', { description: 'y' }),
    ]
    const ids = answers.map(({ headers }) => headers.get('Submission-Id')!)
    const rows = await service.sql<{ id: string; number: string }[]>`
      select id, acceptance_number as number from submission where id = any (${ids}::uuid[]) order by acceptance_number`
    assert.deepEqual(
      rows.map(({ id, number }) => [id, Number(number)]),
      [
        [ids[0], FAR + 1],
        [ids[1], FAR + 2],
      ],
    )
  })

  it('is read once, and again when Redis has been away', async () => {
    const floor = createNumberFloor(service.sql, Date.now)
    const highest = await floor.get(service.workspaceId)
    assert.equal(highest, FAR + 2)
    await service.submit('/feedbacks', { description: 'z' })
    assert.equal(await floor.get(service.workspaceId), highest)
    floor.forget()
    assert.equal(await floor.get(service.workspaceId), highest + 1)
  })

  it('is 0 while Postgres is away, and is read again after 5 seconds', async () => {
    let isAway = true
    let now = 0
    const unsteady = ((...query: Parameters<Sql>) =>
      isAway ? Promise.reject(new Error('away')) : service.sql(...query)) as unknown as Sql
    const floor = createNumberFloor(unsteady, () => now)
    assert.equal(await floor.get(service.workspaceId), 0)
    isAway = false
    now = 4_999
    assert.equal(await floor.get(service.workspaceId), 0)
    now = 5_000
    assert.ok((await floor.get(service.workspaceId)) > FAR)
  })

  it('is read again if Redis has been away before the answer', async () => {
    let asked = 0
    const counting = ((...query: Parameters<Sql>) => {
      asked++
      return service.sql(...query)
    }) as unknown as Sql
    const floor = createNumberFloor(counting, Date.now)
    const answer = floor.get(service.workspaceId)
    floor.forget()
    await answer
    assert.equal(asked, 2)
  })
})
