import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { beginDeletion } from '../../db/delete-workspace.ts'
import { createWorkspace } from '../../db/workspaces.ts'
import { feedbackBody, inject } from '../support/below-the-ingress.ts'
import { type Service, startService } from '../support/service.ts'

const MINUTE_MS = 60_000
const SHOWN = 10

describe('metrics of what waits', () => {
  let service: Service
  before(async () => {
    service = await startService({ workers: 0 })
  })
  after(() => service?.stop())

  const scrape = async (): Promise<string> =>
    (await service.request('/metrics', undefined, { method: 'GET', token: service.adminToken })).text
  /** The values of a metric by workspace. */
  const byWorkspace = (text: string, metric: string): Map<string, number> =>
    new Map(
      [...text.matchAll(new RegExp(`^feedback_insights_waiting_${metric}\\{workspace="(.*)"\\} (.*)$`, 'gm'))].map(
        ([, id, value]) => [id!, Number(value)],
      ),
    )
  /** The n-th workspace has n submissions that wait, the oldest for n minutes. */
  const addWorkspace = async (n: number): Promise<string> => {
    const { id } = (await createWorkspace(service.sql, `number ${n}`))!
    for (let minutes = n; minutes >= 1; minutes--) {
      const waits = { body: feedbackBody('waits'), agoMs: minutes * MINUTE_MS }
      await inject({ ...service, workspaceId: id }, service.queues, waits)
    }
    return id
  }

  it('are how much and for how long, of the ten workspaces that have most of it, by id', async () => {
    assert.equal(byWorkspace(await scrape(), 'submissions').size, 0)
    const ids: string[] = []
    for (let n = 1; n <= SHOWN + 1; n++) ids.push(await addWorkspace(n))
    const text = await scrape()
    const [fewest, ...shown] = ids.map((id, at) => [id, at + 1] as const)
    assert.deepEqual([...byWorkspace(text, 'submissions')], shown.toReversed())
    const oldest = byWorkspace(text, 'oldest_seconds')
    assert.equal(oldest.size, SHOWN)
    for (const [id, minutes] of shown) {
      const seconds = oldest.get(id) ?? 0
      assert.ok(seconds > minutes * 60 - 1 && seconds < (minutes + 1) * 60, `${seconds} s of ${minutes} min`)
    }
    assert.doesNotMatch(text, /number \d/)

    await beginDeletion(service.sql, ids.at(-1)!)
    const later = await scrape()
    assert.ok(!later.includes(ids.at(-1)!), 'a deleted workspace is not shown')
    assert.equal(byWorkspace(later, 'submissions').get(fewest![0]), 1)
  })
})
