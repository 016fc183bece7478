import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, beforeEach, describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { Submission } from '../../../contract/submission.ts'
import type { Sql } from '../../../db/connection/postgres.ts'
import { createStrideStore } from '../../../db/apply/stride-store.ts'
import { makeToken, tokenHash } from '../../../contract/token-format.ts'
import {
  beginDeletion,
  countOwnedRows,
  deleteOwnedRows,
  endDeletion,
  listDeletedIds,
  OWNED_TABLES,
} from '../../../db/workspaces/delete-workspace.ts'
import { finishPurge, removeRecords } from '../../../db/purges/removal.ts'
import { raisePurgedKeys, readPurgedKeys } from '../../../db/purges/purge-replay.ts'
import { markReplayed, setAside } from '../../../db/submissions/dead.ts'
import { readPosition } from '../../../db/submissions/position.ts'
import { readTexts, storeTags } from '../../../db/tags/store-tags.ts'
import { addToken, findTokenHolders, setBootstrapTokens } from '../../../db/tokens.ts'
import { createWebhook } from '../../../db/webhooks.ts'
import {
  createWorkspace,
  DEFAULT_WORKSPACE,
  listWorkspaceIds,
  listWorkspaces,
} from '../../../db/workspaces/workspaces.ts'
import { applyStrides } from '../../support/apply-strides.ts'
import { submissionHistories } from '../../model/submission-arbitrary.ts'
import { seeded } from '../../support/property-seed.ts'
import { createPurgeRig } from '../../support/purge-rig.ts'
import { freshSchema, hashKey, makeWorkspaces, type TestSchema, whileLocked } from '../../support/schema.ts'
import { clearTables, dumpTables } from '../../support/tables.ts'
import { NO_MEANING } from '../../../worker/tagging/no-meaning.ts'
import { NOTHING_FOUND } from '../../support/no-meaning.ts'

const HISTORIES = process.env['TEST_SIZE'] === 'long' ? 100 : 3
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

  const historyOf = (id: string, length: number): Submission[] =>
    fc
      .sample(submissionHistories({ hashKey, workspaceIds: [id], maxLength: length }), {
        ...seeded(),
        numRuns: length,
      })
      .flat()
      .slice(0, length)
      .map((submission, at) => ({ ...submission, submissionId: randomUUID(), number: 1_000_000 + at }))
  const rows = () => countOwnedRows(schema.sql, workspaceId)

  it('knows every table with a column for the workspace', async () => {
    // `beginDeletion` removes the rows of token and workspace_progress.
    const tables = await schema.sql<{ name: string }[]>`
      select c.relname as name from pg_class as c join pg_attribute as a on a.attrelid = c.oid
      where c.relnamespace = ${schema.name}::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and a.attname = 'workspace_id' and c.relname not in ('token', 'workspace_progress')`
    assert.deepEqual([...OWNED_TABLES].toSorted(), tables.map(({ name }) => name).toSorted())
  })

  it('stops all later saves for it, but no save for other workspaces in the same call', async () => {
    const stays = (await createWorkspace(schema.sql, `stays-${randomUUID()}`))!.id
    await beginDeletion(schema.sql, workspaceId)
    const strides = [workspaceId, stays].map((id) => ({ workspaceId: id, after: 0, submissions: historyOf(id, 10) }))
    const results = await applyStrides({ sql: schema.sql, hashKey }, strides)
    assert.equal(results.get(workspaceId)?.end, 'deleted')
    assert.equal(results.get(stays)?.end, 'applied')
    assert.equal(await rows(), 0)
    assert.ok((await countOwnedRows(schema.sql, stays)) > 0)
  })

  it('stops all other work of workers and commands for it', async () => {
    const { sql } = schema
    const rig = await createPurgeRig(sql, workspaceId)
    await rig.feedback({ contact: { email: 'ada@x.example' } })
    const dying = rig.make('create_feedback', { description: 'x' })
    const aside = async (submission: Submission): Promise<void> => {
      const expected = (await readPosition(sql, workspaceId)) ?? 0
      await setAside(sql, hashKey, { submission, attempts: 1, reason: 'x', expected })
    }
    await aside(dying)
    const feedbackIds = (await sql<{ id: string }[]>`select id from feedback`).map(({ id }) => id)
    const wanted = { workspaceId, feedbackIds, conversationIds: [], taggerVersion: 1, isRetag: false }
    const texts = await readTexts(sql, wanted)
    assert.equal(texts.length, 1)
    const purge = { workspaceId, ...(await rig.decide({ email: 'ada@x.example' })) }
    const purgedKeys = await Array.fromAsync(readPurgedKeys(sql))
    assert.ok(purgedKeys.length > 0)
    await sql`
      insert into pending_move (workspace_id, kind, old_id, new_id)
      select workspace_id, 'c', contact_id, gen_random_uuid() from feedback`

    await beginDeletion(sql, workspaceId)
    const refused = { outcome: 'unknown', submission: null }
    assert.deepEqual(await markReplayed(sql, workspaceId, dying.submissionId), refused)
    const share = { judged: false, given: 0, terms: [], tags: [] }
    const found = NOTHING_FOUND
    const tagged = texts.map((text) => ({ ...text, tags: ['Tag'], share, meaning: NO_MEANING }))
    assert.equal(await storeTags(sql, workspaceId, { taggerVersion: 1, tagged, found, maxTerms: 100 }), 0)
    const held = await rows()
    await aside(rig.make('create_feedback', { description: 'y' }))
    await removeRecords(sql, purge, async () => {})
    await createStrideStore(sql).moveRecords(workspaceId)
    assert.equal(await finishPurge(sql, { ...purge, attempts: 1 }), undefined)
    assert.equal(await rows(), held)

    assert.equal(await deleteOwnedRows(sql, workspaceId, () => {}), held)
    assert.equal(await raisePurgedKeys(sql, purgedKeys), 0)
    assert.equal(await rows(), 0)
  })

  it('refuses a webhook that is created while it begins', async () => {
    const scope = { kinds: null, filter: null, holdUntilTagged: false, format: 'standard' as const }
    const wanted = { workspaceId, url: 'https://hooks.example', from: undefined, ...scope }
    const begin = (sql: Sql) => beginDeletion(sql, workspaceId)
    assert.equal(await whileLocked(schema.sql, begin, () => createWebhook(schema.sql, wanted)), undefined)
  })

  it(`leaves no rows when it begins while ${AT_ONCE} workers save, and changes no other workspace, in ${HISTORIES} histories`, async () => {
    const stays = randomUUID()
    for (let history = 0; history < HISTORIES; history++) {
      const id = (await createWorkspace(schema.sql, `goes-${history}`))!.id
      await clearTables(schema.sql)
      await schema.sql`delete from workspace_progress where workspace_id = ${stays}`
      await makeWorkspaces(schema.sql, [stays])
      await applyStrides({ sql: schema.sql, hashKey }, [
        { workspaceId: stays, after: 0, submissions: historyOf(stays, 10) },
      ])
      const untouched = await dumpTables(schema.sql)
      const stride = { workspaceId: id, after: 0, submissions: historyOf(id, 20) }
      const workers = Array.from({ length: AT_ONCE }, () => applyStrides({ sql: schema.sql, hashKey }, [stride]))
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

  it('takes as many steps as it needs, and reports its progress', async () => {
    await schema.sql`
      insert into purged_key (workspace_id, key_id, epoch, number)
      select w, gen_random_uuid(), 1, 1 from unnest(array[${workspaceId}, ${randomUUID()}]::uuid[]) as w, generate_series(1, 10001)`
    await beginDeletion(schema.sql, workspaceId)
    const reported = new Set<number>()
    assert.equal(await deleteOwnedRows(schema.sql, workspaceId, (deleted) => reported.add(deleted)), 10_001)
    assert.deepEqual([...reported], [0, 5_000, 10_000, 10_001])
    assert.equal((await schema.sql`select from purged_key`).count, 10_001)
  })

  it('ends the tokens when it begins, and frees the name when it has ended', async () => {
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
    assert.ok((await beginDeletion(schema.sql, workspaceId)) > former, 'a repeated deletion continues')
    await endDeletion(schema.sql, workspaceId)
    const next = await createWorkspace(schema.sql, 'goes')
    assert.notEqual(next?.id, workspaceId)
    assert.equal((await listed())?.isBeingDeleted, false)
    await (await createPurgeRig(schema.sql, next!.id)).feedback({})
    assert.ok((await countOwnedRows(schema.sql, next!.id)) > 0)
    assert.ok((await listDeletedIds(schema.sql, 60_000)).includes(workspaceId))
    assert.ok(!(await listDeletedIds(schema.sql, 0)).includes(workspaceId))
  })

  it('keeps a start from making bootstrap tokens valid while "default" is being deleted', async () => {
    const { id } = (await listWorkspaces(schema.sql)).find(({ name }) => name === DEFAULT_WORKSPACE)!
    const access = makeToken()
    await beginDeletion(schema.sql, id)
    await setBootstrapTokens(schema.sql, { access })
    assert.equal((await findTokenHolders(schema.sql, [tokenHash(access)])).size, 0)
  })
})
