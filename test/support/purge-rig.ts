import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { contactRecord } from '../../contract/contact-record.ts'
import { conversationRecord } from '../../contract/conversation-record.ts'
import { feedbackRecord } from '../../contract/feedback-record.ts'
import type { Realm } from '../../contract/identity/keys.ts'
import type { Operation, Removal, Submission, SubmissionOf } from '../../contract/submission.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { finishPurge, type PurgeCounts, purgeDead, removeRecords } from '../../db/purges/removal.ts'
import { readPosition } from '../../db/submissions/position.ts'
import { applyStrides } from './apply-strides.ts'
import { hashKey, makeWorkspaces } from './schema.ts'

const CREATED_AT = '2026-01-01T00:00:00Z'

/** A purge that is decided, and whether it matched. */
type Decided = { isMatched: boolean; purgeId: string; number: number }

export type PurgeRig = {
  realm: Realm
  /** Makes a submission with the next number. Does not apply it. */
  make: <O extends Operation>(operation: O, body: object, more?: Partial<Submission>) => SubmissionOf<O>
  /** Applies the submission, and returns its id. */
  apply: (submission: Submission) => Promise<string>
  feedback: (body: object, more?: Partial<Submission>) => Promise<string>
  identify: (body: object, more?: Partial<Submission>) => Promise<string>
  conversation: (body: object, more?: Partial<Submission>) => Promise<string>
  decide: (body: object, more?: Partial<Submission>, operation?: Removal['operation']) => Promise<Decided>
  remove: (purge: Decided) => Promise<PurgeCounts>
  /** Decides the purge and removes its records. */
  purge: (body: object) => Promise<PurgeCounts>
}

/** Applies submissions one by one in a workspace, which is new by default. */
export const createPurgeRig = async (sql: Sql, given?: string): Promise<PurgeRig> => {
  const workspaceId = given ?? randomUUID()
  const realm = { hashKey, workspaceId }
  if (given === undefined) await makeWorkspaces(sql, [workspaceId])
  let number = 1_000_000
  const make: PurgeRig['make'] = <O extends Operation>(operation: O, body: object, more: Partial<Submission> = {}) =>
    ({ operation, workspaceId, submissionId: randomUUID(), number: ++number, body, ...more }) as SubmissionOf<O>
  const applyStride = async (submission: Submission) => {
    const stride = { workspaceId, after: (await readPosition(sql, workspaceId))!, submissions: [submission] }
    const result = (await applyStrides({ sql, hashKey }, [stride])).get(workspaceId)!
    if (result.end !== 'applied') throw new Error(`The stride ended ${result.end}`)
    return result
  }
  const apply: PurgeRig['apply'] = async (submission) => {
    await applyStride(submission)
    return submission.submissionId
  }
  const decide: PurgeRig['decide'] = async (body, more, operation = 'purge_contact') => {
    const purge = make(operation, body, more)
    const { decided } = await applyStride(purge)
    return { isMatched: decided.length > 0, purgeId: purge.submissionId, number: purge.number }
  }
  const remove: PurgeRig['remove'] = async ({ purgeId, number: purgeNumber }) => {
    const [{ keys }] = await sql<[{ keys: string[] }]>`
      select keys from purge where workspace_id = ${workspaceId} and id = ${purgeId}`
    await removeRecords(sql, { workspaceId, purgeId }, async () => {})
    await purgeDead(sql, realm, { purgeId, number: purgeNumber, keys })
    return (await finishPurge(sql, { workspaceId, purgeId, attempts: 1 }))!
  }
  return {
    realm,
    make,
    apply,
    feedback: (body, more) =>
      apply(make('create_feedback', v.parse(feedbackRecord, { description: 'slow', ...body }), more)),
    identify: (body, more) => apply(make('identify_contact', v.parse(contactRecord, body), more)),
    conversation: (body, more) =>
      apply(make('submit_conversation', v.parse(conversationRecord, withMessages(body)), more)),
    decide,
    remove,
    purge: async (body) => remove(await decide(body)),
  }
}

/** Adds defaults to a conversation and its messages. */
const withMessages = (body: { messages?: object[] }): object => ({
  source: 'Chat',
  createdAt: CREATED_AT,
  contacts: [],
  ...body,
  messages: (body.messages ?? []).map((message) => ({
    incoming: true,
    content: 'slow again',
    createdAt: CREATED_AT,
    ...message,
  })),
})
