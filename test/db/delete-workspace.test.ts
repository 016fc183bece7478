import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, beforeEach, describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { JobOf, SubmissionJob } from '../../contract/job.ts'
import {
  beginDeletion,
  countOwnedRows,
  deleteOwnedRows,
  endDeletion,
  listDeletedIds,
  OWNED_TABLES,
} from '../../db/delete-workspace.ts'
import { raiseFences, readFences } from '../../db/purges/fences.ts'
import { purgeRow, removePurged, settlePurge } from '../../db/purges/purge.ts'
import { store } from '../../db/store.ts'
import { markReplayed, setAside } from '../../db/submissions/dead.ts'
import { readTexts, storeTags } from '../../db/tags/tagging.ts'
import { addToken, findTokenHolders, setBootstrapTokens } from '../../db/tokens.ts'
import { createWorkspace, DEFAULT_WORKSPACE, listWorkspaceIds, listWorkspaces } from '../../db/workspaces.ts'
import { makeToken, tokenHash } from '../../contract/token-format.ts'
import { submissionHistories } from '../model/submission-arbitrary.ts'
import { hashKey, toRows } from '../support/deliveries.ts'
import { seeded } from '../support/property-seed.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { clearTables, dumpTables } from '../support/tables.ts'

const HISTORIES = process.env['TEST_SIZE'] === 'long' ? 100 : 4
const AT_ONCE = 4

describe('deleting a workspace', () => {
  let schema: TestSchema
  let workspaceId: string
  before(async () => {
    schema = await freshSchema(AT_ONCE + 2)
  })
  beforeEach(async () => {
    await clearTables(schema.sql)
    await schema.sql`delete from workspace where name = 'goes'`
    workspaceId = (await createWorkspace(schema.sql, 'goes'))!.id
  })
  after(() => schema.drop())

  const historyOf = (workspaceIds: string[], length = 60): SubmissionJob[] =>
    fc
      .sample(submissionHistories({ hashKey, workspaceIds, maxLength: length, firstNumber: 1_000_000 }), {
        ...seeded(),
        numRuns: length,
      })
      .flat()
      .slice(0, length)
      .map((job, at) => ({ ...job, submissionId: randomUUID(), number: 1_000_000 + at }))
  const rowsOf = (job: SubmissionJob) =>
    job.operation === 'purge_contact' ? { workspaceId: job.workspaceId, purge: purgeRow(hashKey, job) } : toRows(job)
  const feedbackOf = (description: string, of = workspaceId): JobOf<'create_feedback'> =>
    ({
      version: 1,
      operation: 'create_feedback',
      workspaceId: of,
      submissionId: randomUUID(),
      number: Date.now() * 1_000,
      body: {
        description,
        isExternalContactId: false,
        isExternalAccountId: false,
        contact: { email: 'ada@x.example' },
      },
    }) as unknown as JobOf<'create_feedback'>
  const rows = () => countOwnedRows(schema.sql, workspaceId)

  it('knows every table that says whose its rows are', async () => {
    const tables = await schema.sql<{ name: string }[]>`
      select c.relname as name from pg_class as c join pg_attribute as a on a.attrelid = c.oid
      where c.relnamespace = ${schema.name}::regnamespace and c.relkind = 'r' and a.attname = 'workspace_id'
        and c.relname <> 'token'`
    const names = tables.map(({ name }) => name)
    assert.deepEqual([...OWNED_TABLES].toSorted(), names.toSorted())
  })

  it('stores nothing of it from then on, of no submission, and all of the others in the same statement', async () => {
    const stays = randomUUID()
    const staying = feedbackOf('stays', stays)
    await beginDeletion(schema.sql, workspaceId)
    const leaving = historyOf([workspaceId])
    const outcomes = await store(schema.sql, [...leaving.map(rowsOf), toRows(staying)])
    const submissions = leaving.filter(({ operation }) => operation !== 'purge_contact')
    assert.ok(submissions.length > 0)
    assert.deepEqual(
      outcomes.toSorted((one, other) => (one.id < other.id ? -1 : 1)),
      submissions
        .map(({ submissionId }) => ({ id: submissionId, state: 'purged' }))
        .toSorted((one, other) => (one.id < other.id ? -1 : 1)),
    )
    assert.equal(await rows(), 0)
    assert.ok((await countOwnedRows(schema.sql, stays)) > 0)
  })

  it('whatever else a worker or a command had begun writes nothing of it', async () => {
    const job = feedbackOf('Exporting a report takes ages')
    const dying = feedbackOf('x')
    const purge = { ...job, submissionId: randomUUID(), number: job.number + 1, operation: 'purge_contact' }
    const purging = { ...purge, body: { email: 'ada@x.example' } } as unknown as JobOf<'purge_contact'>
    await store(schema.sql, [toRows(job)])
    await setAside(schema.sql, hashKey, { job: dying, attempts: 1, reason: 'x' })
    const texts = await readTexts(schema.sql, {
      workspaceId,
      feedbackIds: (await schema.sql<{ id: string }[]>`select id from feedback`).map(({ id }) => id),
      conversationIds: [],
      taggerVersion: 1,
      again: false,
    })
    assert.equal(texts.length, 1)
    await store(schema.sql, [rowsOf(purging)])
    const fences = await Array.fromAsync(readFences(schema.sql))
    assert.ok(fences.length > 0)

    await beginDeletion(schema.sql, workspaceId)
    assert.deepEqual(await markReplayed(schema.sql, workspaceId, dying.submissionId), { outcome: 'unknown', job: null })
    const tagged = texts.map((text) => ({
      ...text,
      tags: ['Tag'],
      share: { judged: false, given: 0, terms: [], tags: [] },
    }))
    assert.equal(await storeTags(schema.sql, { hashKey, workspaceId }, { taggerVersion: 1, tagged, maxTerms: 100 }), 0)
    const held = await rows()
    await setAside(schema.sql, hashKey, { job: feedbackOf('y'), attempts: 1, reason: 'x' })
    await removePurged(schema.sql, purging, async () => {})
    const counts = await settlePurge(schema.sql, { ...purging, attempts: 1, identifiers: { id: null, email: null } })
    assert.deepEqual(Object.values(counts), [0, 0, 0, 0, 0])
    assert.equal(await rows(), held)

    assert.equal(await deleteOwnedRows(schema.sql, workspaceId, () => {}), held)
    await raiseFences(schema.sql, fences)
    assert.equal(await rows(), 0)
  })

  it(`leaves nothing when it begins while ${AT_ONCE} workers store, and nothing of another changes, in ${HISTORIES} histories`, async () => {
    const stays = randomUUID()
    for (let history = 0; history < HISTORIES; history++) {
      const id = (await createWorkspace(schema.sql, `goes-${history}`))!.id
      const staying = historyOf([stays], 10).filter(({ operation }) => operation !== 'purge_contact')
      const leaving = historyOf([id]).filter(({ operation }) => operation !== 'purge_contact')
      await clearTables(schema.sql)
      await store(schema.sql, staying.map(rowsOf))
      const untouched = await dumpTables(schema.sql)
      const workers = Array.from({ length: AT_ONCE }, async (_, worker) => {
        for (const job of leaving.filter((_job, at) => at % AT_ONCE === worker)) await store(schema.sql, [rowsOf(job)])
      })
      const deleting = async (): Promise<void> => {
        await beginDeletion(schema.sql, id)
        await deleteOwnedRows(schema.sql, id, () => {})
        assert.equal(await countOwnedRows(schema.sql, id), 0)
        await endDeletion(schema.sql, id)
      }
      await Promise.all([...workers, deleting()])
      assert.equal(await countOwnedRows(schema.sql, id), 0)
      assert.deepEqual(await dumpTables(schema.sql), untouched)
    }
  })

  it('takes as many steps as it needs, and tells how far it is', async () => {
    await schema.sql`
      insert into fence (workspace_id, key_id, number, id, next_id)
      select w, gen_random_uuid(), 1, w, w from unnest(array[${workspaceId}, ${randomUUID()}]::uuid[]) as w, generate_series(1, 10001)`
    await beginDeletion(schema.sql, workspaceId)
    const told = new Set<number>()
    assert.equal(await deleteOwnedRows(schema.sql, workspaceId, (deleted) => told.add(deleted)), 10_001)
    assert.deepEqual([...told], [0, 5_000, 10_000, 10_001])
    assert.equal((await schema.sql`select from fence`).count, 10_001)
  })

  it('is found by its name until it has ended, then the name is free; its tokens end at once', async () => {
    const token = makeToken()
    const wanted = { token, workspace: 'goes', scopes: ['submit'], expiresAt: null } as const
    assert.notEqual(await addToken(schema.sql, wanted), undefined)
    assert.ok((await beginDeletion(schema.sql, workspaceId)) < 5_000)
    assert.equal((await findTokenHolders(schema.sql, [tokenHash(token)])).size, 0)
    assert.equal(await addToken(schema.sql, { ...wanted, token: makeToken() }), undefined)
    assert.ok(!(await listWorkspaceIds(schema.sql)).includes(workspaceId))
    const listed = async () => (await listWorkspaces(schema.sql)).find(({ name }) => name === 'goes')
    assert.deepEqual([(await listed())?.id, (await listed())?.isBeingDeleted], [workspaceId, true])
    assert.equal(await createWorkspace(schema.sql, 'goes'), undefined)
    const former = await beginDeletion(schema.sql, workspaceId)
    assert.ok((await beginDeletion(schema.sql, workspaceId)) > former, 'begun again, it goes on')
    await endDeletion(schema.sql, workspaceId)
    const anew = await createWorkspace(schema.sql, 'goes')
    assert.notEqual(anew?.id, workspaceId)
    assert.equal((await listed())?.isBeingDeleted, false)
    await store(schema.sql, [toRows(feedbackOf('x', anew!.id))])
    assert.ok((await countOwnedRows(schema.sql, anew!.id)) > 0)
    assert.ok((await listDeletedIds(schema.sql, 60_000)).includes(workspaceId))
    assert.ok(!(await listDeletedIds(schema.sql, 0)).includes(workspaceId))
  })

  it('no start makes the bootstrap tokens valid for the workspace "default" while that is being deleted', async () => {
    const { id } = (await listWorkspaces(schema.sql)).find(({ name }) => name === DEFAULT_WORKSPACE)!
    const access = makeToken()
    await beginDeletion(schema.sql, id)
    await setBootstrapTokens(schema.sql, { access })
    assert.equal((await findTokenHolders(schema.sql, [tokenHash(access)])).size, 0)
  })
})
