import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { contactIdKey, emailKey, ownId } from '../../contract/identity/keys.ts'
import type { Operation, Submission } from '../../contract/submission.ts'
import { readRowsOfContacts } from '../../db/identity/contact-rows.ts'
import { findReferences, readFeedbackReferences } from '../../db/identity/references.ts'
import { canPurgeMatch, findContacts } from '../../db/purges/decide-purge.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { findPurge, finishPurge, removeRecords } from '../../db/purges/removal.ts'
import { findIdempotencyKeys, findKeysToFree, freeKeys } from '../../db/submissions/idempotency-keys.ts'
import { readPosition } from '../../db/submissions/position.ts'
import { readChanges } from '../../db/reads/changes.ts'
import { readList } from '../../db/reads/lists.ts'
import { withStoredHashes } from '../../db/reads/search.ts'
import { findProgress, findReceipt } from '../../db/submissions/receipts.ts'
import { readTexts, storeTags } from '../../db/tags/store-tags.ts'
import { applyStrides } from '../support/apply-strides.ts'
import { parsed } from '../model/submission-arbitrary.ts'
import { parseSearch } from '../../contract/search.ts'
import { searchOf } from '../../tagger/searched-words.ts'
import { tag } from '../../worker/tagging/tagging.ts'
import {
  GROWING_TABLES,
  keepVacuumAway,
  multiplyRows,
  contactInRound,
  conversationInRound,
  feedbackInRound,
  type Reads,
  readsOf,
} from '../support/multiply-rows.ts'
import { freshSchema, hashKey, makeWorkspaces, type TestSchema, withOtherConnection } from '../support/schema.ts'
import { NOTHING_FOUND } from '../support/no-meaning.ts'

const workspaceId = '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a09'
const realm = { hashKey, workspaceId }
const LONG = process.env['TEST_SIZE'] === 'long'
const STORED_FEEDBACK = LONG ? 2_000_000 : 80_000
const FEEDBACK_PER_PERSON = 10
/** The number of submissions in a stride. */
const STRIDE_SIZE = 20
const PAGE_LIMIT = 20
/** Rounds before the first measurement. From the sixth round, a connection can use generic plans. */
const EARLY_ROUNDS = 6
const TIMEOUT_MS = 600_000

/**
 * The bound of index pages of a table: this many times the pages with few rows, plus `PAGES_MORE`.
 * With more rows, a B-tree gets more levels. A scan of a large index reads more than the bound.
 */
const GROWTH = LONG ? 6 : 3
const PAGES_MORE = 100

/**
 * The most index entries of a table that one submission may read. A conversation of 10 messages
 * counts as 10 submissions.
 */
const ENTRIES_PER_SUBMISSION = 40

let number = 1_000_000
const ID_PREFIX = '00000000-0000-7000-8000-'
const submission = (operation: Operation, body: object): Submission => {
  number += 1
  const submissionId = `${ID_PREFIX}${number.toString(16).padStart(12, '0')}`
  const idempotency = { key: `key ${number}`, body: 'hash' }
  return parsed({ operation, workspaceId, submissionId, number, body, idempotency })
}

/** Applies submissions in one stride. */
const apply = async (sql: Sql, operation: Operation, bodyOf: (index: number) => object): Promise<Submission[]> => {
  const submissions = Array.from({ length: STRIDE_SIZE }, (_, index) => submission(operation, bodyOf(index)))
  await applyStride(sql, submissions)
  return submissions
}

const applyStride = async (sql: Sql, submissions: Submission[]): Promise<void> => {
  const stride = { workspaceId, after: (await readPosition(sql, workspaceId))!, submissions }
  const result = (await applyStrides({ sql, hashKey }, [stride])).get(workspaceId)
  assert.equal(result?.end, 'applied')
}

/**
 * Each does work with values that depend on `round`, and returns the number of submissions that
 * bounds its reads.
 */
const WORKS: Readonly<Record<string, (sql: Sql, round: string) => Promise<number>>> = {
  'feedback of people with accounts and projects': async (sql, round) => {
    await apply(sql, 'create_feedback', (index) => feedbackInRound(round, index))
    return STRIDE_SIZE
  },
  'feedback that replaces earlier feedback': async (sql, round) => {
    await apply(sql, 'create_feedback', (index) => ({ ...feedbackInRound(round, index), description: 'still slow' }))
    return STRIDE_SIZE
  },
  'identified contacts with accounts, who had given their emails before': async (sql, round) => {
    await apply(sql, 'identify_contact', (index) => contactInRound(round, index))
    return 2 * STRIDE_SIZE
  },
  'the same contacts, identified again without a source': async (sql, round) => {
    await apply(sql, 'identify_contact', (index) => ({ ...contactInRound(round, index), source: null }))
    return 2 * STRIDE_SIZE
  },
  'identified accounts whose names and domains feedback had given': async (sql, round) => {
    await apply(sql, 'identify_account', (index) => ({
      id: `firm-${round}-${index}`,
      properties: { $name: `Company ${round} ${index}`, $domain: `company-${round}-${index}.example` },
    }))
    return 2 * STRIDE_SIZE
  },
  'pages of lists, of lists of one customer or account, and of changes': async (sql) => {
    const page = { workspaceId, after: undefined, isOldestFirst: false, limit: PAGE_LIMIT }
    const [row] = await sql<{ id: string; account: string; place: string }[]>`
      select f.contact_id as id, f.account_id as account, p.change_position as place from feedback as f, workspace_progress as p
      where f.workspace_id = ${workspaceId} and p.workspace_id = f.workspace_id and f.contact_id is not null
        and f.account_id is not null order by f.id limit 1`
    await readList(sql, { ...page, kind: 'feedback', filters: {} })
    await readList(sql, { ...page, kind: 'feedback', filters: { customerId: row!.id } })
    await readList(sql, { ...page, kind: 'feedback', filters: { accountId: row!.account } })
    await readList(sql, { ...page, kind: 'customer', filters: {} })
    await readList(sql, { ...page, kind: 'customer', filters: { externalKey: row!.id, email: 'unknown@example.org' } })
    await readList(sql, { ...page, kind: 'account', filters: { externalKey: row!.id, domain: 'x.example', name: 'x' } })
    await readList(sql, { ...page, kind: 'conversation', filters: {} })
    const searched = { ...page, kind: 'feedback', filters: { q: searchOf(parseSearch('slowly or quick')!) } } as const
    await readList(sql, withStoredHashes(hashKey, searched))
    await readChanges(sql, workspaceId, {
      after: { position: Number(row!.place) - PAGE_LIMIT, passSince: undefined },
      limit: PAGE_LIMIT,
    })
    return 5 * PAGE_LIMIT
  },
  'feedback that names external ids, known and unknown': async (sql, round) => {
    await apply(sql, 'create_feedback', (index) => ({
      description: 'slow',
      isExternalContactId: true,
      contactId: index % 2 === 0 ? `user-${round}-${index}` : `unknown-${round}-${index}`,
      sourceId: `by-id-${round}-${index}`,
    }))
    return STRIDE_SIZE
  },
  'contacts for whom feedback waits': async (sql, round) => {
    // Half of the feedback goes on waiting.
    await apply(sql, 'identify_contact', (index) => ({
      id: `unknown-${round}-${index < STRIDE_SIZE / 2 ? index : 'x'}`,
    }))
    return STRIDE_SIZE
  },
  conversations: async (sql, round) => {
    await apply(sql, 'submit_conversation', (index) => conversationInRound(round, index))
    return 10 * STRIDE_SIZE
  },
  'the same conversations again': async (sql, round) => {
    await apply(sql, 'submit_conversation', (index) => conversationInRound(round, index))
    return 10 * STRIDE_SIZE
  },
  'tags of feedback and a conversation': async (sql, round) => {
    const job = {
      workspaceId,
      feedbackIds: [`by-id-${round}-0`, `by-id-${round}-2`, `ticket-${round}-3`].map(feedbackId),
      conversationIds: [ownId(realm, 'conversation', 'chat', `chat-${round}-0`)],
    }
    assert.equal((await readTexts(sql, { ...job, taggerVersion: 1, isRetag: false })).length, 4)
    assert.equal(await tag({ sql, hashKey }, job), 4)
    return 30
  },
  'the oldest share of a tag memory that is full': async (sql) => {
    const [memory] = await sql<{ most: number }[]>`
      select greatest(judged_terms, terms - judged_terms)::int as most from tag_memory where workspace_id = ${workspaceId}`
    const found = NOTHING_FOUND
    await storeTags(sql, realm.workspaceId, { taggerVersion: 1, tagged: [], found, maxTerms: memory!.most - 1 })
    return 1
  },
  'the answers to feedback': async (sql, round) => {
    const contact = (index: number, areExternal: boolean) => ({
      ids: areExternal ? [contactIdKey(realm, `user-${round}-${index}`)] : [],
      areExternal,
      source: 'API',
      email: areExternal ? undefined : `person-${round}-${index}@x.example`,
      emailKey: areExternal ? undefined : emailKey(realm, `person-${round}-${index}@x.example`),
    })
    const asked = Array.from({ length: STRIDE_SIZE }, (_, index) => ({
      workspaceId,
      contact: contact(index, index % 2 === 0),
      projectIds: [ownId(realm, 'project', `Project ${round} ${index}`)],
    }))
    const found = await findReferences(sql, asked)
    assert.ok(found.every(({ contacts, email }) => (contacts[0] ?? email) !== undefined))
    const places = asked.map((_, index) => ({ workspaceId, id: feedbackId(`ticket-${round}-${index}`) }))
    assert.ok((await readFeedbackReferences(sql, places)).every((references) => references !== undefined))
    return 2 * STRIDE_SIZE
  },
  'the matches of a purge, and all data about the contact': async (sql, round) => {
    for (const wanted of [{ email: `person-${round}-5@x.example` }, { id: `user-${round}-5` }]) {
      assert.equal(await canPurgeMatch(sql, realm, wanted), true)
      const found = await findContacts(sql, realm, wanted)
      assert.equal(found.contactIds.length, 1)
      for (const rows of Object.values(readRowsOfContacts(sql, realm, found)))
        for await (const row of rows) assert.ok(row)
    }
    return 30
  },
  'receipts and idempotency keys': async (sql, round) => {
    const [one] = await apply(sql, 'create_feedback', (index) => feedbackInRound(`${round}-keys`, index))
    const { submissionId, idempotency } = one!
    assert.equal((await findReceipt(sql, workspaceId, submissionId))?.state, 'applied')
    assert.equal((await findProgress(sql, [{ workspaceId, id: submissionId }])).length, 1)
    await findIdempotencyKeys(sql, [{ workspaceId, key: idempotency!.key }])
    const [contact] = await sql<{ id: string }[]>`
      select subject_id as id from submission where workspace_id = ${workspaceId} and id = ${submissionId}`
    const keys = await findKeysToFree(sql, { workspaceId, subjectIds: [contact!.id], number: ++number, limit: 100 })
    assert.deepEqual(
      keys.map((key) => key.submissionId),
      [submissionId],
    )
    await freeKeys(sql, { workspaceId, submissionIds: [submissionId] })
    return 2 * STRIDE_SIZE
  },
  'a purge': async (sql, round) => {
    const purge = submission('purge_contact', { email: `person-${round}-3@x.example` })
    await applyStride(sql, [purge])
    const purgeId = purge.submissionId
    assert.notEqual(await findPurge(sql, { workspaceId, purgeId }), undefined)
    let removed = 0
    await removeRecords(sql, { workspaceId, purgeId }, async (soFar) => void (removed = soFar))
    assert.ok(removed >= 2, `${removed} records were removed`)
    await finishPurge(sql, { workspaceId, purgeId, attempts: 1 })
    return 10 * removed
  },
  'feedback of all people, one of whom was purged before': async (sql, round) => {
    await apply(sql, 'create_feedback', (index) => ({
      ...feedbackInRound(round, index),
      sourceId: `later-${round}-${index}`,
    }))
    return STRIDE_SIZE
  },
}

const feedbackId = (sourceId: string): string => ownId(realm, 'feedback', 'API', sourceId)

describe(`with ${STORED_FEEDBACK} feedback stored`, { timeout: TIMEOUT_MS }, () => {
  let schema: TestSchema
  before(async () => {
    schema = await freshSchema(1)
    await makeWorkspaces(schema.sql, [workspaceId])
    await keepVacuumAway(schema.sql)
    // Like a nightly maintenance job. The statistics then say that the tables are empty.
    await schema.sql.unsafe(`vacuum (analyze) ${GROWING_TABLES.join(', ')}`)
  })
  after(() => schema?.drop())

  type ReadsByWork = ReadonlyMap<string, { submissions: number; reads: ReadonlyMap<string, Reads> }>
  const readsByWork = async (sql: Sql, round: string): Promise<ReadsByWork> => {
    const found = new Map<string, { submissions: number; reads: ReadonlyMap<string, Reads> }>()
    for (const [name, work] of Object.entries(WORKS)) {
      let submissions = 0
      const reads = await readsOf(sql, async () => {
        submissions = await work(sql, round)
      })
      found.set(name, { submissions, reads })
    }
    return found
  }

  const assertBounded = (found: ReadsByWork): void => {
    const tooMuch: string[] = []
    for (const [name, { submissions, reads }] of found) {
      for (const table of GROWING_TABLES) {
        const { sequential, entries, pages } = reads.get(table)!
        if (sequential > 0) tooMuch.push(`${name}: reads ${sequential} rows of ${table} in sequence`)
        const most = ENTRIES_PER_SUBMISSION * submissions
        if (entries > most) tooMuch.push(`${name}: reads ${entries} index entries of ${table}, more than ${most}`)
        const mostPages = GROWTH * whenSmall.get(name)!.reads.get(table)!.pages + PAGES_MORE
        if (pages > mostPages) tooMuch.push(`${name}: reads ${pages} index pages of ${table}, more than ${mostPages}`)
      }
    }
    assert.deepEqual(tooMuch, [])
  }
  let whenSmall: ReadsByWork

  it('each piece of work reads a bounded number of rows, with plans from the time of empty tables', async () => {
    for (let round = 0; round < EARLY_ROUNDS; round++)
      for (const work of Object.values(WORKS)) await work(schema.sql, `early-${round}`)
    whenSmall = await readsByWork(schema.sql, 'small')
    const { count: stored } = await schema.sql`select from feedback`
    const copies = Math.ceil(STORED_FEEDBACK / stored)
    await withOtherConnection(schema.name, TIMEOUT_MS, (other) =>
      multiplyRows(other, { feedback: copies, others: Math.ceil(copies / FEEDBACK_PER_PERSON) }),
    )
    assertBounded(await readsByWork(schema.sql, 'late'))
  })

  it('each piece of work reads a bounded number of rows, with plans from analyzed tables', async () => {
    await schema.sql.unsafe(`analyze ${GROWING_TABLES.join(', ')}`)
    await withOtherConnection(schema.name, TIMEOUT_MS, async (other) =>
      assertBounded(await readsByWork(other, 'analyzed')),
    )
  })
})
