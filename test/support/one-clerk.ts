import assert from 'node:assert/strict'
import process from 'node:process'
import * as fc from 'fast-check'
import type { SubmissionJob } from '../../contract/job.ts'
import { hashKeyFrom } from '../../contract/identity/own-id.ts'
import { readLedgers } from './ledgers.ts'
import { applyAll } from '../model/model.ts'
import { submissionHistories } from '../model/submission-arbitrary.ts'
import { seeded } from './property-seed.ts'
import type { Service } from './service.ts'
import { dumpModel, dumpTables } from './tables.ts'
import { until } from './until.ts'

const AT_ONCE = 8
const SETTLED_WITHIN_MS = process.env['TEST_SIZE'] === 'long' ? 600_000 : 60_000

const PATHS: Readonly<Record<SubmissionJob['operation'], string>> = {
  create_feedback: '/feedbacks',
  identify_contact: '/contacts/identify',
  identify_account: '/accounts/identify',
  submit_conversation: '/conversations',
  purge_contact: '/contacts/purge',
}

/**
 * Submits a random history, purges included, to a service's API processes in turn, eight requests at a time, and returns what was
 * confirmed, by submission id. After each answer `answered` is told how many there are.
 */
export const submitHistory = async (
  service: Service,
  submissions: number,
  answered: (count: number) => void = () => {},
): Promise<ReadonlyMap<string, SubmissionJob>> => {
  const hashKey = hashKeyFrom(service.environment['HASH_KEY']!)
  const drafts = fc
    .sample(submissionHistories({ hashKey, workspaceIds: [service.workspaceId], maxLength: 60, purges: true }), {
      ...seeded(),
      numRuns: submissions,
    })
    .flat()
    .slice(0, submissions)
  const accepted = new Map<string, SubmissionJob>()
  let next = 0
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < drafts.length) {
        const index = next++
        const draft = drafts[index]!
        const token = draft.operation === 'purge_contact' ? service.adminToken : service.accessToken
        const api = index % service.urls.length
        const answer = await service.post(PATHS[draft.operation], draft.body, { api, token })
        const isNobody = draft.operation === 'purge_contact' && answer.status === 404
        assert.ok(answer.status === 200 || answer.status === 201 || isNobody, answer.text)
        if (!isNobody) accepted.set(answer.headers.get('Submission-Id')!, draft)
        answered(index + 1)
      }
    }),
  )
  return accepted
}

/** Waits until everything is settled; then the tables are those that one clerk would have made, and the ledger is exact. */
export const assertStoredAsByOneClerk = async (
  service: Service,
  accepted: ReadonlyMap<string, SubmissionJob>,
): Promise<void> => {
  const hashKey = hashKeyFrom(service.environment['HASH_KEY']!)
  const [ledger] = await until(
    'everything is settled',
    async () => {
      const ledgers = await readLedgers(service.sql, service.redis, service.redisPrefix)
      return ledgers.every(({ queued }) => queued === 0) && ledgers
    },
    SETTLED_WITHIN_MS,
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
}
