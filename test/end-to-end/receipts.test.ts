import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { type Answer, submissionIdOf } from '../support/service.ts'
import { sharedService } from '../support/shared-service.ts'

const service = await sharedService()
after(() => service.stop())

const receiptOf = (id: string): Promise<Answer> => service.get(`/api/v1/submissions/${id}`)

describe('a receipt', () => {
  it('shows a submission as queued, and later its outcome', async () => {
    await holdWork(service.queues)
    const answer = await service.post('/feedbacks', { description: 'x' })
    const id = submissionIdOf(answer)
    const queued = (await receiptOf(id)).body.submission
    assert.deepEqual(
      { ...queued, acceptedAt: null },
      {
        id,
        operation: 'create_feedback',
        state: 'queued',
        attempts: 0,
        acceptedAt: null,
        finishedAt: null,
        error: null,
      },
    )
    await resumeWork(service.queues)
    await service.settled(answer)
    const settled = (await receiptOf(id)).body.submission
    assert.equal(settled.state, 'applied')
    assert.equal(settled.attempts, 1)
    assert.equal(settled.acceptedAt, queued.acceptedAt)
    assert.ok(Date.parse(settled.finishedAt) >= Date.parse(settled.acceptedAt))
  })
})
