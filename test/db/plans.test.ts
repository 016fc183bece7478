import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import * as v from 'valibot'
import { aliasesIn } from '../../queue/aliases.ts'
import { exportContacts } from '../../cli/contact-export.ts'
import { feedbackRecord } from '../../contract/feedback-record.ts'
import { JOB_VERSION, type SubmissionOf, type Operation, submissionSchema, type TaggingJob } from '../../contract/submission.ts'
import { ownId } from '../../contract/identity/own-id.ts'
import { feedbackReferences } from '../../contract/identity/reference.ts'
import { purgeMatcher } from '../../api/purge-matcher.ts'
import { referenceResolver } from '../../api/reference-resolver.ts'
import type { Sql } from '../../db/postgres.ts'
import { keysOf, namesIn } from '../../contract/identity/names.ts'
import { purgeRow, removePurged, settlePurge } from '../../db/purges/purge.ts'
import type { Identity } from '../../api/meaning-with-queued.ts'
import { queuedFactsIn } from '../../queue/queued-facts.ts'
import { findIdempotencyKeys, freeKeys, keysToFree } from '../../db/submissions/idempotency-keys.ts'
import { findReceipt, findSettled } from '../../db/submissions/receipts.ts'
import { type IdempotencyRow, type Rows, store } from '../../db/store.ts'
import { readTexts } from '../../db/tags/tagging.ts'
import { tag } from '../../worker/tagging/tagging.ts'
import { hashKey, toRows } from '../support/deliveries.ts'
import { GROWING_TABLES, keepVacuumAway, multiplyRows } from '../support/multiply-rows.ts'
import { freshSchema, type TestSchema, withOtherConnection } from '../support/schema.ts'
import { contactBody, conversationBody, feedbackBody } from '../support/round-bodies.ts'
import { testServers } from '../support/servers.ts'
import { type Reads, readsOf } from '../support/table-reads.ts'

const workspaceId = '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a09'
const LONG = process.env['TEST_SIZE'] === 'long'
const STORED_FEEDBACK = LONG ? 1_000_000 : 40_000
const FEEDBACK_PER_PERSON = 10
/** Submissions of each kind that are stored before they are multiplied; so many are stored by one statement later. */
const BATCH = 20
const TIMEOUT_MS = 600_000

/**
 * Of one table's indexes a piece of work looks at no more than so many times the pages that it looked at when little was stored, and so many
 * more: trees of one level get two or three, while who goes through one looks at all of it.
 */
const GROWTH = LONG ? 6 : 3
const PAGES_MORE = 100

/** Entries of one table's indexes that one submission (a conversation of 10 messages counts as 10) has to do with at most. */
const ENTRIES_PER_SUBMISSION = 40

describe(`with ${STORED_FEEDBACK} feedback stored`, { timeout: TIMEOUT_MS }, () => {
  let schema: TestSchema
  let redis: Redis
  let number = 1_000_000
  before(async () => {
    schema = await freshSchema(1)
    await keepVacuumAway(schema.sql)
    // As whoever tidies a database by night does it: what is known then is that nothing is there.
    await schema.sql.unsafe(`vacuum (analyze) ${GROWING_TABLES.join(', ')}`)
    redis = new Redis(testServers().redisUrl)
  })
  after(async () => {
    redis.disconnect()
    await schema.drop()
  })

  const identityIn = (sql: Sql): Identity => ({
    sql,
    lookUpQueued: queuedFactsIn(redis, schema.name),
    ...aliasesIn(redis, schema.name),
  })

  const submission = (operation: Operation, body: object) =>
    v.parse(submissionSchema, {
      version: JOB_VERSION,
      workspaceId,
      submissionId: randomUUID(),
      number: ++number,
      operation,
      body,
    })
  const rows = (operation: Operation, bodyOf: (index: number) => object): Rows[] =>
    Array.from({ length: BATCH }, (_, index) => {
      const job = submission(operation, bodyOf(index))
      const concerns = keysOf(namesIn({ hashKey, workspaceId }, job))
      return { ...toRows(job), idempotency: { key: job.submissionId.slice(-22), body: 'hash', concerns } }
    })

  /** What is done, told apart by `round`, and with how many submissions. */
  const works: Readonly<Record<string, (sql: Sql, round: string) => Promise<number>>> = {
    'feedback of people with accounts and projects': async (sql, round) => {
      await store(
        sql,
        rows('create_feedback', (index) => feedbackBody(round, index)),
      )
      return BATCH
    },
    'feedback that replaces what was submitted before': async (sql, round) => {
      await store(
        sql,
        rows('create_feedback', (index) => ({ ...feedbackBody(round, index), description: 'still slow' })),
      )
      return BATCH
    },
    'identified contacts with accounts, who had given their emails before': async (sql, round) => {
      await store(
        sql,
        rows('identify_contact', (index) => contactBody(round, index)),
      )
      return 2 * BATCH
    },
    'the same contacts, identified again without a source': async (sql, round) => {
      await store(
        sql,
        rows('identify_contact', (index) => ({ ...contactBody(round, index), source: null })),
      )
      return 2 * BATCH
    },
    'identified accounts, of which feedback had given names and domains': async (sql, round) => {
      await store(
        sql,
        rows('identify_account', (index) => ({
          id: `firm-${round}-${index}`,
          properties: { $name: `Company ${round} ${index}`, $domain: `company-${round}-${index}.example` },
        })),
      )
      return 2 * BATCH
    },
    'feedback that names external ids, known and unknown': async (sql, round) => {
      await store(
        sql,
        rows('create_feedback', (index) => ({
          description: 'slow',
          isExternalContactId: true,
          contactId: index % 2 === 0 ? `user-${round}-${index}` : `nobody-${round}-${index}`,
          sourceId: `by-id-${round}-${index}`,
        })),
      )
      return BATCH
    },
    conversations: async (sql, round) => {
      await store(
        sql,
        rows('submit_conversation', (index) => conversationBody(round, index)),
      )
      return 10 * BATCH
    },
    'tags of a feedback and a conversation': async (sql, round) => {
      const job = {
        version: JOB_VERSION,
        workspaceId,
        feedbackIds: [`by-id-${round}-0`, `by-id-${round}-2`, `ticket-${round}-3`].map(feedbackId),
        conversationIds: [conversationId(round, 0)],
      } satisfies TaggingJob
      assert.equal((await readTexts(sql, { ...job, taggerVersion: 1, again: false })).length, 4)
      assert.equal(await tag({ sql, hashKey }, job), 4)
      return 30
    },
    'whom a feedback means, for its answer': async (sql, round) => {
      const meanings = referenceResolver(identityIn(sql), TIMEOUT_MS)
      const bodies = [
        feedbackBody(round, 1),
        { description: '', isExternalContactId: true, contactId: `user-${round}-1` },
      ]
      for (const purgesQueued of [false, true]) {
        for (const body of bodies) {
          const context = { hashKey, workspaceId, number: ++number, recordId: randomUUID() }
          const references = feedbackReferences(context, v.parse(feedbackRecord, body))
          const asked = { workspaceId, number, source: 'API', references, queued: new Map(), purgesQueued }
          assert.notEqual((await meanings(asked)).contact, null)
        }
      }
      return 2 * bodies.length
    },
    'whom a purge would concern, for its answer, and all that is held about them': async (sql, round) => {
      const matches = purgeMatcher(identityIn(sql), { hashKey, timeoutMs: TIMEOUT_MS })
      const email = `person-${round}-5@x.example`
      for (const wanted of [{ email }, { id: `user-${round}-5` }, { id: `nobody-${round}-5` }])
        assert.equal(await matches(workspaceId, wanted), true)
      const about = { workspace: { id: workspaceId, name: 'plans' }, wanted: { email }, at: new Date() }
      const exported = await exportContacts({ sql, redis, prefix: schema.name, hashKey }, about)
      for await (const piece of exported!) assert.notEqual(piece, '')
      return 30
    },
    'a receipt': async (sql, round) => {
      const [row] = rows('create_feedback', (index) => feedbackBody(`${round}-receipt`, index))
      await store(sql, [row!])
      const receipt = await findReceipt(sql, workspaceId, row!.submission.id)
      assert.equal(receipt?.state, 'applied')
      assert.equal((await findSettled(sql, [{ workspaceId, id: row!.submission.id }])).length, 1)
      return 3
    },
    'idempotency keys': async (sql, round) => {
      const stored = rows('create_feedback', (index) => feedbackBody(`${round}-keys`, index))
      await store(sql, stored)
      const [{ key, concerns }] = stored.map(({ idempotency }) => idempotency!) as [IdempotencyRow]
      await findIdempotencyKeys(sql, [{ workspaceId, key }])
      const keys = await keysToFree(sql, { workspaceId, keyIds: concerns, number: ++number, limit: 100 })
      assert.equal(keys.length, 1)
      await freeKeys(sql, { workspaceId, keys })
      return 2 * BATCH
    },
    'a purge': async (sql, round) => {
      const job = submission('purge_contact', { email: `person-${round}-3@x.example` }) as SubmissionOf<'purge_contact'>
      const { submissionId } = job
      await store(sql, [{ workspaceId, purge: purgeRow(hashKey, job) }])
      let removed = 0
      await removePurged(sql, { workspaceId, submissionId }, async (so) => void (removed = so))
      assert.ok(removed >= 2, `${removed} records were removed`)
      await settlePurge(sql, { workspaceId, submissionId, attempts: 1, identifiers: { id: null, email: null } })
      return 10 * removed
    },
    'feedback of everybody, of whom one was purged before': async (sql, round) => {
      await store(
        sql,
        rows('create_feedback', (index) => ({ ...feedbackBody(round, index), sourceId: `later-${round}-${index}` })),
      )
      return BATCH
    },
  }

  type ReadsByWork = ReadonlyMap<string, { submissions: number; reads: ReadonlyMap<string, Reads> }>
  const readsByWork = async (sql: Sql, round: string): Promise<ReadsByWork> => {
    const found = new Map<string, { submissions: number; reads: ReadonlyMap<string, Reads> }>()
    for (const [name, work] of Object.entries(works)) {
      let submissions = 0
      const reads = await readsOf(sql, async () => {
        submissions = await work(sql, round)
      })
      found.set(name, { submissions, reads })
    }
    return found
  }

  const assertBounded = (found: ReadsByWork): void => {
    for (const [name, { submissions, reads }] of found) {
      for (const table of GROWING_TABLES) {
        const { sequential, entries, pages } = reads.get(table)!
        assert.equal(sequential, 0, `${name}: reads ${sequential} rows of ${table} in sequence`)
        const most = ENTRIES_PER_SUBMISSION * submissions
        assert.ok(entries <= most, `${name}: reads ${entries} index entries of ${table}, more than ${most}`)
        const mostPages = GROWTH * whenSmall.get(name)!.reads.get(table)!.pages + PAGES_MORE
        assert.ok(pages <= mostPages, `${name}: looks at ${pages} index pages of ${table}, more than ${mostPages}`)
      }
    }
  }
  let whenSmall: ReadsByWork

  it('reads what it has to, by plans that were made while the tables were empty', async () => {
    // Six times: from then on a connection uses a plan that knows nothing of the values.
    for (let time = 0; time < 6; time++)
      for (const work of Object.values(works)) await work(schema.sql, `early-${time}`)
    whenSmall = await readsByWork(schema.sql, 'small')
    await withOtherConnection(schema.name, TIMEOUT_MS, (other) =>
      multiplyRows(other, {
        feedback: Math.ceil(STORED_FEEDBACK / (13 * BATCH)),
        others: Math.ceil(STORED_FEEDBACK / (13 * BATCH) / FEEDBACK_PER_PERSON),
      }),
    )
    assertBounded(await readsByWork(schema.sql, 'late'))
  })

  it('reads what it has to, by plans that are made when the tables have been analyzed', async () => {
    await schema.sql.unsafe(`analyze ${GROWING_TABLES.join(', ')}`)
    await withOtherConnection(schema.name, TIMEOUT_MS, async (other) =>
      assertBounded(await readsByWork(other, 'analyzed')),
    )
  })
})

const feedbackId = (sourceId: string): string => ownId({ hashKey, workspaceId }, 'feedback', 'API', sourceId)
const conversationId = (round: string, index: number): string =>
  ownId({ hashKey, workspaceId }, 'conversation', 'chat', `chat-${round}-${index}`)
