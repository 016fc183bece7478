import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
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
/** Each of so many requests is repeated with its idempotency key. */
const REPEATED = 5
const SETTLED_WITHIN_MS = process.env['TEST_SIZE'] === 'long' ? 600_000 : 60_000

const PATHS: Readonly<Record<SubmissionJob['operation'], string>> = {
  create_feedback: '/feedbacks',
  identify_contact: '/contacts/identify',
  identify_account: '/accounts/identify',
  submit_conversation: '/conversations',
  purge_contact: '/contacts/purge',
}

/**
 * Submits a random history, purges included unless they are left out, to a service's API processes in turn, eight requests at a time, some of them twice with
 * their idempotency key, and returns what was confirmed, by submission id. After each answer `answered` is told how many there are.
 */
export const submitHistory = async (
  service: Service,
  submissions: number,
  { answered = () => {}, purges = true }: { answered?: (count: number) => void; purges?: boolean } = {},
): Promise<ReadonlyMap<string, SubmissionJob>> => {
  const hashKey = hashKeyFrom(service.environment['HASH_KEY']!)
  const drafts = fc
    .sample(submissionHistories({ hashKey, workspaceIds: [service.workspaceId], maxLength: 60, purges }), {
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
        const headers = { 'Idempotency-Key': randomUUID() }
        const submit = async (api: number): Promise<string | null> => {
          // Whoever is told to come back does, with the same key: the submission may have been accepted.
          const answer = await until('it is answered', async () => {
            const one = await service.post(PATHS[draft.operation], draft.body, { api, token, headers })
            return one.status !== 503 && one
          })
          const isNobody = draft.operation === 'purge_contact' && answer.status === 404
          assert.ok(answer.status === 200 || answer.status === 201 || isNobody, answer.text)
          const id = answer.headers.get('Submission-Id')
          if (!isNobody) accepted.set(id!, draft)
          return id
        }
        const id = await submit(index % service.urls.length)
        if (index % REPEATED === 0) {
          const again = await submit((index + 1) % service.urls.length)
          // A purge of the contact makes a key free, and the repetition a submission of its own.
          if (draft.operation === 'identify_account') assert.equal(again, id)
        }
        answered(index + 1)
      }
    }),
  )
  return accepted
}

/**
 * Waits until everything is settled; then the tables are those that one clerk would have made, and the ledger is exact.
 *
 * @param dead the submissions that end dead, which the clerk does not get to see; none of the others may.
 */
export const assertStoredAsByOneClerk = async (
  service: Service,
  accepted: ReadonlyMap<string, SubmissionJob>,
  dead: readonly string[] = [],
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
  assert.deepEqual([ledger!.accepted, ledger!.difference, ledger!.dead], [accepted.size + dead.length, 0, dead.length])

  const numbers = await service.sql<{ id: string; number: string }[]>`
    select id, acceptance_number as number from submission where state <> 'dead'`
  const history = numbers.map(({ id, number }): SubmissionJob => {
    const draft = accepted.get(id)
    assert.ok(draft, `submission ${id} was never confirmed`)
    return { ...draft, submissionId: id, number: Number(number) }
  })
  assert.equal(history.length, accepted.size)
  assert.deepEqual(await dumpTables(service.sql), dumpModel(applyAll(hashKey, history)))
}
