import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import * as fc from 'fast-check'
import { hashKeyFrom } from '../../contract/identity/keys.ts'
import type { Ledger } from '../../contract/ledger.ts'
import type { Operation, Submission } from '../../contract/submission.ts'
import { applyAll } from '../model/model.ts'
import { submissionHistories } from '../model/submission-arbitrary.ts'
import { readLedger } from './ledgers.ts'
import { seeded } from './property-seed.ts'
import { type Answer, type Service, startService, submissionIdOf } from './service.ts'
import { type Dump, dumpModel, dumpTables } from './tables.ts'
import { until } from './until.ts'
import { PATHS } from '../end-to-end/interface-table.ts'

const AT_ONCE = 8
/** One in this many requests is repeated with its idempotency key. */
const REPEATED = 5
const HISTORY_LENGTH = 60
const AFTER_TROUBLE_MS = 50
/** The pause after each request beyond `atLeast`: a fault can take long, and needs some load only. */
const BETWEEN_MS = 100

export type HistoryService = Pick<
  Service,
  'sql' | 'redis' | 'redisPrefix' | 'environment' | 'workspaceId' | 'accessToken' | 'adminToken' | 'urls' | 'post'
>
/** The confirmed submissions, by id. */
type Confirmed = ReadonlyMap<string, Submission>
type HistoryOptions = {
  /** Receives the number of answered requests after each one. Repetitions do not count. */
  answered?: (count: number) => void
  /**
   * Whether there are purges. They free idempotency keys, so if answers get lost, a repeated
   * request could become a second submission.
   */
  purges?: boolean
  /** The history continues until this promise is settled. */
  during?: Promise<unknown>
}

/**
 * A service for histories. It has a high limit on conversations. It generates no tags, since they
 * would depend on the order of texts.
 */
export const startHistoryService = async ({
  environment,
  ...options
}: NonNullable<Parameters<typeof startService>[0]>): Promise<Service> => {
  const service = await startService({
    ...options,
    environment: { CONVERSATIONS_PER_MINUTE: '1000000', ...environment },
  })
  await service.queues.tagging.pause()
  return service
}

/**
 * Submits a random history to the API processes in turn, eight requests at a time. Sends some
 * requests twice with their idempotency key. Repeats requests that get a 503 or no answer.
 * `refused` is the number of these attempts, without purges.
 */
export const submitHistory = async (
  service: HistoryService,
  atLeast: number,
  { answered = () => {}, purges = true, during }: HistoryOptions = {},
): Promise<{ confirmed: Confirmed; refused: number }> => {
  const nextDraft = draftsOf(service, purges)
  const seen: Seen = { accepted: new Map(), refused: 0 }
  let next = 0
  let answers = 0
  const over = new AbortController()
  const ended = Promise.resolve(during).finally(() => over.abort())
  const client = async (): Promise<void> => {
    while (next < atLeast || !over.signal.aborted) {
      const index = next++
      const draft = nextDraft()
      const key = randomUUID()
      const id = await submit(service, draft, { key, api: index % service.urls.length, seen })
      if (index % REPEATED === 0) {
        const again = await submit(service, draft, { key, api: (index + 1) % service.urls.length, seen })
        // A purge of its contact frees a key. Then the repetition is a new submission.
        if (draft.operation === 'identify_account') assert.equal(again, id)
      }
      answered(++answers)
      if (index >= atLeast) await pause(BETWEEN_MS)
    }
  }
  const clients = Promise.all(Array.from({ length: AT_ONCE }, client))
  await Promise.all([clients, ended])
  return { confirmed: seen.accepted, refused: seen.refused }
}

/** The submissions of random histories, one history after the other. */
const draftsOf = (service: HistoryService, purges: boolean): (() => Submission) => {
  const hashKey = hashKeyFrom(service.environment['HASH_KEY']!)
  const drawn = { hashKey, workspaceIds: [service.workspaceId], maxLength: HISTORY_LENGTH, purges }
  const { seed = randomSeed() } = seeded()
  const drafts: Submission[] = []
  let round = 0
  return () => {
    while (drafts.length === 0) {
      const histories = fc.sample(submissionHistories(drawn), { seed: seed + round++, numRuns: 10 })
      drafts.push(...histories.flat().filter((draft) => !namesOwnContact(draft)))
    }
    return drafts.shift()!
  }
}

/**
 * The result of a feedback that names the own id of a contact depends on the submissions applied
 * before its admission. The model does not know which they are.
 */
const namesOwnContact = (draft: Submission): boolean => {
  if (draft.operation !== 'create_feedback' || draft.body.isExternalContactId) return false
  return (draft.body.contactId ?? draft.body.contact?.id ?? null) !== null
}
const randomSeed = (): number => Math.floor(Math.random() * 2 ** 31)

type Seen = { accepted: Map<string, Submission>; refused: number }
type Sent = { key: string; api: number; seen: Seen }

/** Returns the id of the submission; null for a purge without a match. */
const submit = async (service: HistoryService, draft: Submission, { key, api, seen }: Sent): Promise<string | null> => {
  const isPurge = draft.operation === 'purge_contact'
  const token = isPurge ? service.adminToken : service.accessToken
  const options = { api, token, headers: { 'Idempotency-Key': key } }
  const attempt = async (): Promise<Answer | undefined> => {
    const answer = await ask(service, draft, options)
    if (answer === undefined && !isPurge) seen.refused++
    return answer
  }
  const answer = await until('the request is answered', attempt)
  if (isPurge && answer.status === 404) return null
  assert.ok(answer.status === 200 || answer.status === 201, answer.text)
  const id = submissionIdOf(answer)
  seen.accepted.set(id, draft)
  return id
}

const ask = async (
  { post }: HistoryService,
  { operation, body }: Submission,
  options: Parameters<Service['post']>[2],
): Promise<Answer | undefined> => {
  const answer = await post(PATHS[operation as keyof typeof PATHS], body, options).catch(() => undefined)
  if (answer !== undefined && answer.status !== 503) return answer
  await pause(AFTER_TROUBLE_MS)
  return undefined
}

/**
 * Waits until all submissions are settled. Then the workspace must have the rows of the model, and
 * the ledger must be exact.
 *
 * @param dead the ids of all dead submissions. The model leaves them out.
 * @param ledgerMayLack whether Redis may have forgotten stored submissions.
 */
export const assertEqualsModel = async (
  service: HistoryService,
  confirmed: Confirmed,
  { dead = [], ledgerMayLack = false }: { dead?: readonly string[]; ledgerMayLack?: boolean } = {},
): Promise<void> => {
  const { workspaceId, environment } = service
  const ledger = await settledLedger(service)
  const lacks = ledgerMayLack ? Math.max(0, -ledger.difference) : 0
  assert.deepEqual([ledger.difference + lacks, ledger.dead], [0, dead.length])
  const died = await service.sql<{ id: string }[]>`
    select id from submission where workspace_id = ${workspaceId} and state = 'dead'`
  assert.deepEqual(died.map(({ id }) => id).toSorted(), dead.toSorted())

  const rows = await service.sql<{ id: string; number: string; operation: Operation; counts: object | null }[]>`
    select id, acceptance_number as number, operation, counts from submission
    where workspace_id = ${workspaceId} and state <> 'dead'`
  assert.equal(ledger.accepted + lacks, rows.length + dead.length)
  const history = rows.flatMap(({ id, number, operation, counts }): Submission[] => {
    const draft = confirmed.get(id)
    if (draft !== undefined) return [{ ...draft, submissionId: id, number: Number(number) }]
    // A decided purge without a match got a 404, and changed nothing.
    assert.equal(operation, 'purge_contact', `submission ${id} was never confirmed`)
    assert.deepEqual([...new Set(Object.values(counts ?? {}))], [0])
    return []
  })
  assert.equal(history.length, confirmed.size, 'each confirmed submission has a receipt')
  const model = dumpModel(applyAll(hashKeyFrom(environment['HASH_KEY']!), history))
  assert.deepEqual(rowsOf(await dumpTables(service.sql), workspaceId), rowsOf(model, workspaceId))
}

/** Waits until all submissions and purges of the workspace are finished. */
export const settledLedger = async (service: HistoryService): Promise<Ledger> => {
  await until('all submissions are settled', async () => (await readLedger(service)).queued === 0)
  // A purge that still removes records is neither queued in the log nor counted as applied.
  await until('purges are finished', async () => {
    const purges = await service.sql`select from purge where workspace_id = ${service.workspaceId}`
    return purges.count === 0
  })
  return readLedger(service)
}

const rowsOf = (dump: Dump, workspaceId: string): Dump =>
  Object.fromEntries(
    Object.entries(dump).map(([table, rows]) => [table, rows.filter((row) => row.includes(workspaceId))]),
  )
