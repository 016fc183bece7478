import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { Job } from 'bullmq'
import { Redis } from 'ioredis'
import * as v from 'valibot'
import { admissionsIn } from '../../queue/admit.ts'
import { admissionKeys } from '../../queue/keys.ts'
import { BatchingWorker } from '../../queue/batching-worker.ts'
import { settledJob, type SubmissionJob, submissionJob } from '../../contract/job.ts'
import type { Sayings } from '../../contract/identity/sayings.ts'
import { FINISHED_JOBS_KEPT, queuePrefix } from '../../contract/queues.ts'
import { closeQueues, forgetBodiesIn, type JobQueues, openQueues, queueingIn } from '../../queue/job-queues.ts'
import { jobsAtOnceIn, KEPT_OF_ONE_CALL } from '../../queue/jobs-at-once.ts'
import { type SettledInHand, type SettleJobs, settleJobsIn } from '../../queue/settle-jobs.ts'
import { openBooksIn } from '../../queue/open-books.ts'
import { testServers } from '../support/servers.ts'
import { until } from '../support/until.ts'

const LOCK_MS = 15_000
const SECRET = 'said in confidence'

describe('settled submissions and their jobs', () => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  let redis: Redis
  let queues: JobQueues
  let settleJobs: SettleJobs
  let workspaceId: string
  before(() => {
    redis = new Redis(testServers().redisUrl, { maxRetriesPerRequest: null })
    queues = openQueues(redis, prefix, () => {})
    const settlement = openBooksIn(redis, prefix)
    settleJobs = settleJobsIn({ redis, prefix, queues, settlement, forgetBodies: forgetBodiesIn(redis, queues) })
  })
  beforeEach(async () => {
    await removeAll()
    workspaceId = randomUUID()
  })
  after(async () => {
    await closeQueues(queues)
    await removeAll()
    await redis.quit()
  })

  const keysOf = async (): Promise<string[]> => (await redis.keys(`{${prefix}:*`)).toSorted()
  const removeAll = async (): Promise<void> => {
    const keys = await keysOf()
    if (keys.length > 0) await redis.unlink(keys)
  }
  const [email, record] = [randomUUID(), randomUUID()]
  const sayings: Sayings = {
    newIds: [{ id: record, of: 'record' }],
    aboutKeys: [{ keyId: email, sayings: [{ kind: 'given', unless: null }] }],
  }
  const accept = (count: number): Promise<SubmissionJob[]> => {
    const admit = admissionsIn(redis, prefix, queueingIn(redis, queues))
    return Promise.all(
      Array.from({ length: count }, async () => {
        const operation = 'create_feedback'
        const submissionId = randomUUID()
        const body = { description: SECRET, isExternalContactId: false, isExternalAccountId: false }
        const { number: _, ...job } = { version: 1, operation, workspaceId, submissionId, number: 0, body }
        const asked = { workspaceId, operation, submissionId, sayings, lookUp: [], job: JSON.stringify(job) } as const
        const admission = await admit(asked)
        assert.ok(admission.outcome === 'admitted')
        return v.parse(submissionJob, { ...job, number: admission.number })
      }),
    )
  }
  const fetchAs = (token: string) =>
    jobsAtOnceIn(redis, {
      toKey: (name) => queues.feedback.toKey(name),
      token,
      lockMs: LOCK_MS,
      kept: FINISHED_JOBS_KEPT,
    }).fetch(100)
  const inHand = async (submission: SubmissionJob): Promise<SettledInHand> => {
    const { submissionId, number } = submission
    const job = (await queues.feedback.getJob(submissionId))!
    const settled = { workspaceId, submissionId, number, sayings }
    return { submission, settled, job, token: 'me', result: 'applied' }
  }
  /** How much is outstanding, exists, and is said. */
  const onTheBooks = (): Promise<number[]> => {
    const name = admissionKeys(prefix, workspaceId)
    return Promise.all([redis.zcard(name.outstanding), redis.hlen(name.exists), redis.hlen(name.said(email))])
  }
  const textOf = async (key: string): Promise<string> => {
    const type = await redis.type(key)
    return type === 'hash' ? JSON.stringify(await redis.hgetall(key)) : type === 'string' ? (await redis.get(key))! : ''
  }
  const assertNothingSaid = async (): Promise<void> => {
    const texts = await Promise.all((await keysOf()).map(textOf))
    assert.deepEqual(
      texts.filter((text) => text.includes(SECRET)),
      [],
    )
  }

  it('leave the books and the queue in one step, and a few of them stay for operators', async () => {
    const submissions = await accept(25)
    await fetchAs('me')
    const jobs = await Promise.all(submissions.map(inHand))
    assert.deepEqual(await onTheBooks(), [25, 1, 25])
    await settleJobs(jobs)
    assert.ok(jobs.every(({ job }) => typeof job.finishedOn === 'number'))
    assert.deepEqual(await onTheBooks(), [0, 0, 0])
    assert.deepEqual(await queues.feedback.getJobCounts('active', 'waiting', 'completed'), {
      active: 0,
      waiting: 0,
      completed: KEPT_OF_ONE_CALL,
    })
    for (const job of await queues.feedback.getCompleted()) {
      assert.ok(v.is(settledJob, job.data))
      assert.deepEqual([job.data.submissionId, job.returnvalue, job.attemptsMade], [job.id, 'applied', 1])
    }
    await assertNothingSaid()
  })

  it('may be settled again, and none comes back', async () => {
    const jobs = await Promise.all((await accept(12)).map(inHand))
    await fetchAs('me')
    await settleJobs(jobs)
    const left = await keysOf()
    for (const { job } of jobs) delete job.finishedOn
    await settleJobs(jobs)
    assert.ok(jobs.every(({ job }) => job.finishedOn !== undefined))
    assert.deepEqual(await keysOf(), left)
  })

  it('lose what was submitted also when the job is held by another, or waits again', async () => {
    const [held, waiting] = (await accept(2)) as [SubmissionJob, SubmissionJob]
    await fetchAs('another')
    await queues.feedback.getJob(waiting.submissionId).then((job) => job!.moveToWait('another'))
    const jobs = await Promise.all([held, waiting].map(inHand))
    await settleJobs(jobs)
    assert.deepEqual(
      jobs.map(({ job }) => job.finishedOn),
      [undefined, undefined],
    )
    assert.deepEqual(await onTheBooks(), [0, 0, 0])
    assert.equal(await queues.feedback.getActiveCount(), 1)
    assert.equal(await queues.feedback.getWaitingCount(), 1)
    for (const { submissionId } of [held, waiting]) {
      assert.ok(v.is(settledJob, (await queues.feedback.getJob(submissionId))!.data))
    }
    await assertNothingSaid()
  })

  it('are not finished a second time by the worker', async () => {
    const submissions = new Map((await accept(30)).map((submission) => [submission.submissionId, submission]))
    const process = async (job: Job, token?: string): Promise<string> => {
      const held = await inHand(submissions.get(job.id!)!)
      await settleJobs([{ ...held, job, token: token! }])
      // As if it were handed out anew: finished once more, it would leave the queue.
      await redis.set(`${queues.feedback.toKey(job.id!)}:lock`, token!)
      await redis.lpush(queues.feedback.toKey('active'), job.id!)
      return 'applied'
    }
    const worker = new BatchingWorker('feedback', process, {
      connection: redis,
      prefix: queuePrefix(prefix, 'feedback'),
      concurrency: 10,
      lockDuration: LOCK_MS,
    })
    const faults: unknown[] = []
    const done: string[] = []
    worker.on('error', (error) => faults.push(error))
    worker.on('completed', ({ id }) => done.push(id!))
    await until('all are done', async () => done.length === submissions.size)
    await worker.close()
    assert.deepEqual([faults, new Set(done)], [[], new Set(submissions.keys())])
    assert.equal(await queues.feedback.getActiveCount(), submissions.size)
    assert.deepEqual(await onTheBooks(), [0, 0, 0])
  })
})
