import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { Redis } from 'ioredis'
import * as v from 'valibot'
import { admissionsIn } from '../../queue/admit.ts'
import { aliasesIn } from '../../queue/aliases.ts'
import { JOB_VERSION, type JobOf, type SubmissionJob, submissionJob } from '../../contract/job.ts'
import { ownId } from '../../contract/identity/own-id.ts'
import { sayingsOf } from '../../contract/identity/sayings.ts'
import { feedbackReferences } from '../../contract/identity/reference.ts'
import { feedbackId, feedbackSource } from '../../contract/stored-feedback.ts'
import { type MatchesPurge, purgeMatcher } from '../../api/purge-matcher.ts'
import { keysToLookUp, referenceResolver } from '../../api/reference-resolver.ts'
import type { ResolveReferences } from '../../contract/identity/meaning.ts'
import { purgeRow, removePurged, settlePurge } from '../../db/purges/purge.ts'
import { queuedFactsIn } from '../../queue/queued-facts.ts'
import { batchIdOf } from '../../queue/batch.ts'
import { booksIn } from '../../queue/books.ts'
import type { Settled } from '../../queue/settle.ts'
import { store } from '../../db/store.ts'
import { type Clerk, openClerk, takeIn } from '../model/clerk.ts'
import { current } from '../model/profile.ts'
import { matches } from '../model/purge.ts'
import { submissionHistories } from '../model/submission-arbitrary.ts'
import { hashKey, toRows } from '../support/deliveries.ts'
import { seeded } from '../support/property-seed.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { entered, forgetKeys, handsNothingOver } from '../support/queue-room.ts'
import { testServers } from '../support/servers.ts'
import { clearTables } from '../support/tables.ts'

const HISTORIES = Number(process.env['QUEUED_HISTORIES'] ?? (process.env['TEST_SIZE'] === 'long' ? 5_000 : 100))
const LENGTH = 30
const TIMEOUT_MS = 30_000
const WORKSPACE = '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a01'
const histories = submissionHistories({ hashKey, maxLength: LENGTH, purges: true, workspaceIds: [WORKSPACE] })
/**
 * How many of the queued submissions are stored before each one, mostly none, and which id that was answered before a feedback
 * names.
 */
const steps = fc.array(
  fc.record({
    stored: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.nat({ max: 4 })),
    named: fc.option(fc.nat({ max: LENGTH }), { freq: 4 }),
  }),
  {
    minLength: LENGTH,
    maxLength: LENGTH,
  },
)

describe('the ingress, asked about what is partly queued', () => {
  let schema: TestSchema
  let redis: Redis
  before(async () => {
    schema = await freshSchema(2)
    redis = new Redis(testServers().redisUrl)
  })
  after(async () => {
    await redis.quit()
    await schema.drop()
  })

  it(`answers as one careful clerk would who has taken in all that was accepted before, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(histories, steps, async (history, plan) => {
        await clearTables(schema.sql)
        const ingress = openIngress(schema, redis)
        const clerks = new Map<string, Clerk>()
        const answered: string[] = []
        for (const [place, drawn] of history.entries()) {
          const { stored, named } = plan[place]!
          await ingress.storeSome(stored)
          const job = naming(drawn, named === null ? undefined : answered[named % answered.length])
          const { workspaceId } = job
          const clerk = clerks.get(workspaceId) ?? openClerk({ hashKey, workspaceId })
          clerks.set(workspaceId, clerk)
          if (job.operation === 'purge_contact') {
            const found = await ingress.matchesPurge(workspaceId, job.body)
            const isRight = found === matches(clerk, job.body)
            // A queued record that remembers an id counts, although a later one that is queued as well replaces it.
            assert.ok(isRight || (found && hasNamed(history.slice(0, place), job.body.id)), `purge ${place}: ${found}`)
            if (!found) continue
          }
          const { accepted, customerId } = await ingress.accept(job)
          takeIn(clerk, accepted)
          if (accepted.operation !== 'create_feedback') continue
          assert.equal(customerId, customerOf(clerk, accepted), `feedback ${place}`)
          if (customerId !== null) answered.push(customerId)
        }
        await ingress.forget()
      }),
      seeded({ numRuns: HISTORIES }),
    )
  })

  it('finds who has queued a claim on an email, by the id that the email has since a purge', async () => {
    await clearTables(schema.sql)
    const ingress = openIngress(schema, redis)
    const email = 'ann@example.org'
    const identified = jobOf('identify_contact', { id: '1', properties: { $email: email } })
    await ingress.accept(identified)
    await ingress.accept(jobOf('purge_contact', { id: '1' }))
    const afresh = await ingress.accept(jobOf('create_feedback', { description: 'x', contact: { email } }))
    await ingress.storeSome(3)
    await ingress.accept(identified)
    const byId = (contactId: string, isExternalContactId: boolean) =>
      ingress.accept(jobOf('create_feedback', { description: 'x', contactId, isExternalContactId }))
    const returned = await byId('1', true)
    const absorbed = await byId(afresh.customerId!, false)
    assert.equal(absorbed.customerId, returned.customerId)
    assert.notEqual(absorbed.customerId, afresh.customerId)
    await ingress.forget()
  })

  it('purges once by an external id and an email: who has claimed the email before stays', async () => {
    await clearTables(schema.sql)
    const ingress = openIngress(schema, redis)
    const $email = 'ann@example.org'
    const identify = (id: string, properties: object) => ingress.accept(jobOf('identify_contact', { id, properties }))
    await identify('1', { $email })
    await identify('2', { $email })
    await identify('1', { $email: null })
    await ingress.accept(jobOf('purge_contact', { id: '3', email: $email }))
    const byEmail = await ingress.accept(jobOf('create_feedback', { description: 'x', contact: { email: $email } }))
    const byId = jobOf('create_feedback', { description: 'x', contactId: '1', isExternalContactId: true })
    assert.equal(byEmail.customerId, (await ingress.accept(byId)).customerId)
    await ingress.forget()
  })

  it('knows an email by its own id as well, where another submission tried that id first', async () => {
    await clearTables(schema.sql)
    const ingress = openIngress(schema, redis)
    const feedback = (contact: string, body: object = {}) =>
      ingress.accept(jobOf('create_feedback', { description: 'x', contact: { email: contact }, ...body }))
    const { customerId: ann } = await feedback('ann@example.org')
    // The id means Ann, so the email beside it makes nobody.
    await feedback('bob@example.org', { contactId: ann })
    const bob = ownId({ hashKey, workspaceId: WORKSPACE }, 'contact_email', 'bob@example.org')
    assert.equal((await feedback('ann@example.org', { contactId: bob })).customerId, ann)
    await ingress.forget()
  })

  it('knows a contact by name only whose record has come again with somebody else', async () => {
    await clearTables(schema.sql)
    const ingress = openIngress(schema, redis)
    const record = { description: 'x', source: 'desk', sourceId: 'T-3', contact: { name: 'Ann' } }
    const feedback = (body: object) => ingress.accept(jobOf('create_feedback', { description: 'x', ...body }))
    const { customerId: nameless } = await feedback(record)
    const { customerId: other } = await feedback({ contact: { email: 'ann@example.org' } })
    await feedback({ ...record, contactId: other })
    assert.equal((await feedback({ contactId: nameless })).customerId, nameless)
    await ingress.forget()
  })
})

const jobOf = (operation: SubmissionJob['operation'], body: object): SubmissionJob =>
  v.parse(submissionJob, {
    version: JOB_VERSION,
    workspaceId: WORKSPACE,
    submissionId: randomUUID(),
    number: 1,
    operation,
    body,
  })

/** Whether any record has named an external id, as far as this history goes. */
const hasNamed = (history: readonly SubmissionJob[], id: string | null | undefined): boolean =>
  history.some(
    ({ operation, body }) =>
      (operation === 'create_feedback' && [body.contactId, body.contact?.id].includes(id ?? undefined)) ||
      (operation === 'submit_conversation' && body.messages.some(({ contactId }) => contactId === id)),
  )

const naming = (job: SubmissionJob, contactId: string | undefined): SubmissionJob =>
  job.operation === 'create_feedback' && contactId !== undefined
    ? { ...job, body: { ...job.body, isExternalContactId: false, contactId } }
    : job

const customerOf = (clerk: Clerk, { body, ...job }: JobOf<'create_feedback'>): string | null => {
  const { profile } = clerk.feedbacks.get(feedbackId({ hashKey, ...job }, body))!.contact
  return profile ? current(profile).id : null
}

type Accepted = { accepted: SubmissionJob; customerId: string | null }

/** Admission, look-ups and storing, as API and workers do them, with a prefix of its own. */
const openIngress = ({ sql }: TestSchema, redis: Redis) => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  const admit = admissionsIn({ redis, prefix, handOver: handsNothingOver, findStoredKey: async () => null })
  const books = booksIn(redis, prefix)
  const identity = { sql, lookUpQueued: queuedFactsIn(redis, prefix), ...aliasesIn(redis, prefix) }
  const resolve: ResolveReferences = referenceResolver(identity, TIMEOUT_MS)
  const matchesPurge: MatchesPurge = purgeMatcher(identity, { hashKey, timeoutMs: TIMEOUT_MS })
  const queued: SubmissionJob[] = []

  const accept = async (draft: SubmissionJob): Promise<Accepted> => {
    const realm = { hashKey, workspaceId: draft.workspaceId }
    const under = (submissionId: string): SubmissionJob => ({ ...draft, submissionId })
    const admission = entered(
      await admit({
        workspaceId: draft.workspaceId,
        operation: draft.operation,
        bodyText: JSON.stringify(draft.body),
        saidBy: (submissionId) => {
          const job = under(submissionId)
          const lookUp = job.operation === 'create_feedback' ? keysToLookUp(referencesOf(job)) : []
          return { sayings: sayingsOf(realm, job), lookUp }
        },
      }),
    )
    const accepted = { ...under(admission.submissionId), number: admission.number }
    queued.push(accepted)
    if (accepted.operation !== 'create_feedback') return { accepted, customerId: null }
    const source = feedbackSource(accepted.body)
    const references = referencesOf(accepted)
    const question = { workspaceId: draft.workspaceId, number: admission.number, source, references }
    const meant = await resolve({ ...question, queued: admission.queued, purgesQueued: admission.purgesQueued })
    return { accepted, customerId: meant.contact }
  }

  const referencesOf = (job: JobOf<'create_feedback'>) => {
    const recordId = feedbackId({ hashKey, workspaceId: job.workspaceId, submissionId: job.submissionId }, job.body)
    return feedbackReferences({ hashKey, workspaceId: job.workspaceId, number: 0, recordId }, job.body)
  }

  const storeSome = async (count: number): Promise<void> => {
    for (const job of queued.splice(0, count)) {
      const { workspaceId, submissionId } = job
      const batch = await books.read({ workspaceId, batchId: batchIdOf(submissionId) })
      const settled: Settled = { batch: batch!, sayings: [sayingsOf({ hashKey, workspaceId }, job)] }
      if (job.operation === 'purge_contact') {
        await store(sql, [{ workspaceId, purge: purgeRow(hashKey, job) }])
        await books.decide([settled])
        await removePurged(sql, { workspaceId, submissionId }, async () => {})
        await settlePurge(sql, { workspaceId, submissionId, attempts: 1, identifiers: { id: null, email: null } })
      } else await store(sql, [toRows(job)])
      await books.settle([settled])
    }
  }

  const forget = (): Promise<void> => forgetKeys(redis, prefix)
  return { accept, storeSome, matchesPurge, forget }
}
