import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { workspaceKeys } from '../../queue/keys.ts'
import { feedbackBody, inject } from '../support/inject.ts'
import type { Answer } from '../support/service.ts'
import { operatedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const service = await operatedService()
after(() => service.stop())

type Line = Readonly<Record<string, unknown>>

describe('a line of the log output has the ids of its subject:', () => {
  const lineOf = (event: string, fits: (line: Line) => boolean = () => true): Promise<Line> =>
    until(`a line about ${event}`, async () =>
      service
        .output()
        .split('\n')
        .filter((line) => line.endsWith('}'))
        .map((line) => JSON.parse(line) as Line)
        .find((line) => line['event'] === event && fits(line)),
    )
  /** Sends a request while the table is missing. */
  const without = async (table: string, ask: () => Promise<Answer>): Promise<Answer> => {
    await service.sql`alter table ${service.sql(table)} rename to taken_away`
    try {
      return await ask()
    } finally {
      await service.sql`alter table taken_away rename to ${service.sql(table)}`
    }
  }
  /** Sends a request while the key has a text instead of its data. */
  const withText = async (key: string, ask: () => Promise<Answer>): Promise<Answer> => {
    await service.redis.rename(key, `${key}:kept`).catch(() => {})
    await service.redis.set(key, 'a text')
    try {
      return await ask()
    } finally {
      await service.redis.rename(`${key}:kept`, key).catch(() => service.redis.del(key))
    }
  }
  const assertLogged = async (event: string, answer: Answer): Promise<void> => {
    assert.equal(answer.status, 503, answer.text)
    const { requestId, workspaceId } = await lineOf(event)
    assert.equal(requestId, answer.headers.get('X-Request-Id'))
    assert.equal(workspaceId, service.workspaceId)
  }
  const post = (headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
    service.post('/feedbacks', { description: 'x', tags: [] }, { headers })

  it('a submission that was not admitted', async () => {
    const { state } = workspaceKeys(service.redisPrefix, service.workspaceId)
    const answer = await withText(state, () => post({ 'X-Request-Id': 'mine-1' }))
    await assertLogged('admission_failed', answer)
    assert.equal((await lineOf('admission_failed'))['fault'], 'ReplyError WRONGTYPE')
    assert.match(answer.body.error, /^The queue refuses writes/)
  })

  it('a receipt that could not be read', async () => {
    const path = '/api/v1/submissions/01890000-0000-7000-8000-000000000000'
    await assertLogged('receipt_look_up_failed', await without('submission', () => service.get(path)))
    assert.equal((await lineOf('receipt_look_up_failed'))['submissionId'], path.split('/').at(-1))
  })

  it('a submission that could not be stored', async () => {
    const { submissionId } = await inject(service, service.queues, { body: feedbackBody('\u0000') })
    const { workspaceId, operation, attempts, fault } = await lineOf(
      'submission_dead',
      (one) => one['submissionId'] === submissionId,
    )
    assert.deepEqual(
      [workspaceId, operation, attempts, fault],
      [service.workspaceId, 'create_feedback', 1, 'PostgresError 22P05'],
    )
    await service.sql`delete from dead_submission where id = ${submissionId}`
  })

  it('texts that could not be tagged', async () => {
    await service.queues.tagging.pause()
    await service.submit('/feedbacks', { description: 'Invoices cannot be printed' })
    await service.sql`alter function texts_to_read rename to taken_away`
    try {
      await service.queues.tagging.resume()
      const { workspaceId, jobId } = await lineOf('job_failed', (one) => one['queue'] === 'tagging')
      assert.equal(workspaceId, service.workspaceId)
      assert.notEqual(jobId, undefined)
    } finally {
      await service.sql`alter function taken_away rename to texts_to_read`
    }
  })
})
