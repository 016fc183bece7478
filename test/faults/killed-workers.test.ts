import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { SubmissionJob } from '../../db/contract/job.ts'
import { hashKeyFrom } from '../../db/contract/own-id.ts'
import { closeQueues, type JobQueues, openQueues } from '../../db/job-queues.ts'
import { readLedgers } from '../../db/ledger.ts'
import { applyAll } from '../model/model.ts'
import { submissionHistories } from '../model/submission-arbitrary.ts'
import { seeded } from '../support/property-seed.ts'
import { type Service, startService } from '../support/service.ts'
import { type ServiceProcess, startProcess } from '../support/service-process.ts'
import { dumpModel, dumpTables } from '../support/tables.ts'
import { until } from '../support/until.ts'

const SUBMISSIONS = Number(process.env['KILLED_SUBMISSIONS'] ?? (process.env['TEST_SIZE'] === 'long' ? 5_000 : 400))
const WORKERS = 2
const AT_ONCE = 8
/** After so many answers, a worker is killed and another one started in its place. */
const KILL_EVERY = Math.ceil(SUBMISSIONS / 5)
const RECOVERED_WITHIN_MS = 60_000

const PATHS: Readonly<Record<SubmissionJob['operation'], string>> = {
  create_feedback: '/feedbacks',
  identify_contact: '/contacts/identify',
  identify_account: '/accounts/identify',
  submit_conversation: '/conversations',
  purge_contact: '/contacts/purge',
}

describe('workers that are killed', () => {
  let service: Service
  let queues: JobQueues
  const workers: ServiceProcess[] = []
  const startWorker = () => startProcess('worker/main.ts', 'working', { ...service.environment })
  const replaceWorker = async (): Promise<void> => {
    await workers.shift()!.kill()
    workers.push(await startWorker())
  }

  before(async () => {
    service = await startService({ workers: 0, apis: 2, environment: { CONVERSATIONS_PER_MINUTE: '1000000' } })
    queues = openQueues(service.redis, service.redisPrefix, () => {})
    // Generated tags depend on the order; here nothing may.
    await queues.tagging.pause()
    for (let started = 0; started < WORKERS; started++) workers.push(await startWorker())
  })
  after(async () => {
    await Promise.all(workers.map((worker) => worker.stop()))
    await closeQueues(queues)
    await service.stop()
  })

  it(`lose nothing and change nothing: ${SUBMISSIONS} submissions are stored as one clerk would have`, async () => {
    const hashKey = hashKeyFrom(service.environment['HASH_KEY']!)
    const { workspaceId } = service
    const drafts = fc
      .sample(submissionHistories({ hashKey, workspaceIds: [workspaceId], maxLength: 60, purges: true }), {
        ...seeded(),
        numRuns: SUBMISSIONS,
      })
      .flat()
      .slice(0, SUBMISSIONS)
    const accepted = new Map<string, SubmissionJob>()
    let next = 0
    let replaced = Promise.resolve()
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (next < drafts.length) {
          const index = next++
          const draft = drafts[index]!
          const token = draft.operation === 'purge_contact' ? service.adminToken : service.accessToken
          const answer = await service.post(PATHS[draft.operation], draft.body, { api: index % 2, token })
          const isNobody = draft.operation === 'purge_contact' && answer.status === 404
          assert.ok(answer.status === 200 || answer.status === 201 || isNobody, answer.text)
          if (!isNobody) accepted.set(answer.headers.get('Submission-Id')!, draft)
          if (index % KILL_EVERY === KILL_EVERY - 1) {
            replaced = replaced.then(replaceWorker)
          }
        }
      }),
    )
    await replaced
    const [ledger] = await until(
      'everything is settled',
      async () => {
        const ledgers = await readLedgers(service.sql, service.redis, service.redisPrefix)
        return ledgers.every(({ queued }) => queued === 0) && ledgers
      },
      RECOVERED_WITHIN_MS,
    )
    assert.deepEqual([ledger!.accepted, ledger!.difference, ledger!.dead], [accepted.size, 0, 0])

    const numbers = await service.sql<{ id: string; number: string }[]>`
      select id, acceptance_number as number from submission`
    const history = numbers.map(({ id, number }): SubmissionJob => {
      const draft = accepted.get(id)
      assert.ok(draft, `submission ${id} was never confirmed`)
      return { ...draft, submissionId: id, number: Number(number) }
    })
    assert.equal(history.length, accepted.size)
    assert.deepEqual(await dumpTables(service.sql), dumpModel(applyAll(hashKey, history)))
  })
})
