import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { contactIdKey, contactSourceKey } from '../../contract/identity/keys.ts'
import { raisePurgedKeys, type PurgedKey } from '../../db/purges/purge-replay.ts'
import { type FeedPlace, readChanges } from '../../db/reads/changes.ts'
import { MOST_BYTES } from '../../db/reads/records.ts'
import { readTexts, storeTags } from '../../db/tags/store-tags.ts'
import { MAX_LENGTH, submissionHistories, WORKSPACES } from '../model/submission-arbitrary.ts'
import { deliver, type Schedule, schedules } from '../support/deliver.ts'
import { seeded } from '../support/property-seed.ts'
import { freshSchema, hashKey, makeWorkspaces, type TestSchema } from '../support/schema.ts'
import { storedRecords } from '../support/stored-records.ts'
import { clearTables, resetPositions } from '../support/tables.ts'
import { NO_MEANING } from '../../worker/tagging/no-meaning.ts'
import { NOTHING_FOUND } from '../support/no-meaning.ts'

const HISTORIES = Number(process.env['CONVERGENCE_HISTORIES'] ?? (process.env['TEST_SIZE'] === 'long' ? 2_000 : 10))
const TAGS = ['speed', 'export', 'login']
const TAGGER_VERSION = 1
/** Above the number of purges of a key in any history. */
const HIGH_EPOCH = MAX_LENGTH + 1
/** Above all acceptance numbers of a history. */
const HIGH_NUMBER = 2 ** 52

/** The data of a workspace that a consumer sees at one moment. */
type Moment = {
  last: number
  records: Map<string, { position: number; record: string; ownAccount: string | null }>
  tombstones: Map<number, string>
}

describe('the change feed', () => {
  let schema: TestSchema
  before(async () => {
    schema = await freshSchema()
    await makeWorkspaces(schema.sql, WORKSPACES)
    // A small step, so that moves of records take several steps.
    await schema.sql`create or replace function move_limit() returns integer language sql immutable as 'select 2'`
  })
  after(() => schema.drop())

  const momentOf = async (workspaceId: string): Promise<Moment> => {
    const { sql } = schema
    const rows = await storedRecords(sql, workspaceId)
    const tombstones = await sql<{ name: string; position: number }[]>`
      select kind || ' ' || record_id as name, position::float8 as position from tombstone
      where workspace_id = ${workspaceId}`
    const [progress] = await sql<[{ last: number }]>`
      select change_position::float8 as last from workspace_progress where workspace_id = ${workspaceId}`
    return {
      last: progress.last,
      records: new Map(rows.map(({ name, ...row }) => [name, row])),
      tombstones: new Map(tombstones.map(({ name, position }) => [position, name])),
    }
  }

  /**
   * Every record that changes, appears or disappears between two moments has a position after the
   * first moment.
   */
  const assertChangesShown = (former: Moment, moment: Moment): void => {
    const positions = [...[...moment.records.values()].map(({ position }) => position), ...moment.tombstones.keys()]
    assert.equal(new Set(positions).size, positions.length, 'no position is given twice')
    assert.ok(positions.every((position) => position <= moment.last))
    for (const [name, { position, ...own }] of moment.records) {
      const known = former.records.get(name)
      if (known?.position === position)
        assert.deepEqual({ position, ...own }, known, `${name} changed and kept its position`)
      else
        assert.ok(position > former.last, `${name} is at ${position}, although a consumer has been at ${former.last}`)
    }
    const later = [...moment.tombstones].filter(([position]) => position > former.last)
    const gone = new Map(later.map(([position, name]) => [name, position]))
    for (const name of former.records.keys())
      if (!moment.records.has(name)) assert.ok(gone.has(name), `${name} disappeared without a tombstone`)
    for (const [name, position] of gone) {
      const present = moment.records.get(name)
      assert.ok(present === undefined || present.position > position, `${name} exists and has a tombstone`)
    }
    for (const [position, name] of former.tombstones) assert.equal(moment.tombstones.get(position), name)
  }

  /** Tags the records of a workspace, some of them with equal tags or without a tag. */
  const tagAll = async (workspaceId: string, turn: number): Promise<void> => {
    const { sql } = schema
    const idsOf = async (table: string): Promise<string[]> =>
      (await sql<{ id: string }[]>`select id from ${sql(table)} where workspace_id = ${workspaceId}`).map(
        ({ id }) => id,
      )
    const [feedbackIds, conversationIds] = [await idsOf('feedback'), await idsOf('conversation')]
    const wanted = { workspaceId, feedbackIds, conversationIds, taggerVersion: TAGGER_VERSION, isRetag: turn % 3 === 0 }
    const tagged = (await readTexts(sql, wanted)).map(({ tags, text: _, ...record }, at) => ({
      ...record,
      tags: tags ?? TAGS.slice((at + turn) % 3, (at + 2 * turn) % 4),
      share: {
        judged: tags !== null,
        given: 0,
        terms: [{ hash: at, determined: true, free: true, valued: true, given: false }],
        tags: [],
      },
      meaning: NO_MEANING,
    }))
    const found = NOTHING_FOUND
    await storeTags(sql, workspaceId, { taggerVersion: TAGGER_VERSION, tagged, found, maxTerms: 10 })
  }

  /** Raises the epochs of stored contacts' keys, like a replay of purges after a restore. */
  const raiseKeys = async (workspaceId: string): Promise<void> => {
    const contacts = await schema.sql<{ source: string; id: string }[]>`
      select source, external_id as id from contact_external_id where workspace_id = ${workspaceId} order by 1, 2 limit 2`
    const realm = { hashKey, workspaceId }
    const keyIds = contacts.flatMap(({ source, id }) => [contactSourceKey(realm, source, id), contactIdKey(realm, id)])
    const keys = [...new Set(keyIds)].map((keyId): PurgedKey => ({
      workspaceId,
      keyId,
      epoch: HIGH_EPOCH,
      number: HIGH_NUMBER,
    }))
    assert.equal(await raisePurgedKeys(schema.sql, keys), contacts.length)
  }

  const assertEachStepShown = async (history: Parameters<typeof deliver>[1], schedule: Schedule): Promise<void> => {
    await clearTables(schema.sql)
    await resetPositions(schema.sql)
    const moments = new Map<string, Moment>()
    const look = async (): Promise<void> => {
      for (const workspaceId of WORKSPACES) {
        const moment = await momentOf(workspaceId)
        const former = moments.get(workspaceId)
        if (former) assertChangesShown(former, moment)
        moments.set(workspaceId, moment)
      }
    }
    await look()
    let turn = 0
    const onStep = async (): Promise<void> => {
      await look()
      await tagAll(WORKSPACES[turn % WORKSPACES.length]!, turn++)
      await look()
    }
    await deliver(schema.sql, history, { ...schedule, onStep })
    for (const workspaceId of WORKSPACES) {
      await raiseKeys(workspaceId)
      await look()
      const { last } = moments.get(workspaceId)!
      const page = await readChanges(schema.sql, workspaceId, {
        after: { position: 0, passSince: undefined },
        limit: 1e6,
      })
      assert.ok(page !== 'expired')
      assert.deepEqual(
        page.next,
        { position: last, passSince: undefined },
        'a consumer that has read all is up to date',
      )
    }
  }

  /** `seen`: the records after any step. `shown`: the records and tombstones after the last one. */
  const namesIn = async (history: Parameters<typeof deliver>[1], schedule: Schedule) => {
    await clearTables(schema.sql)
    await resetPositions(schema.sql)
    const seen = new Set<string>()
    const shown = new Set<string>()
    const onStep = async (): Promise<void> => {
      shown.clear()
      for (const workspaceId of WORKSPACES) {
        const { records, tombstones } = await momentOf(workspaceId)
        for (const name of records.keys()) seen.add(`${workspaceId} ${name}`)
        for (const name of [...records.keys(), ...tombstones.values()]) shown.add(`${workspaceId} ${name}`)
      }
    }
    await deliver(schema.sql, history, { ...schedule, onStep })
    return { seen, shown }
  }

  // After a failover, workers apply submissions again in other strides. A consumer may have seen
  // records that the new strides remove.
  it(`has, after long strides, each record that strides of one submission show, or its tombstone: ${HISTORIES} histories`, () =>
    fc.assert(
      fc.asyncProperty(
        submissionHistories({ hashKey, replays: true, corrections: true }),
        schedules,
        async (history, schedule) => {
          const { seen } = await namesIn(history, { ...schedule, sizes: [1], again: [0] })
          const { shown } = await namesIn(history, { ...schedule, sizes: [MAX_LENGTH] })
          for (const name of seen) assert.ok(shown.has(name), name)
        },
      ),
      seeded({ numRuns: HISTORIES, endOnFailure: true }),
    ))

  it(`gives each change a higher position, and each removed record a tombstone: ${HISTORIES} histories`, () =>
    fc.assert(
      fc.asyncProperty(
        submissionHistories({ hashKey, purges: true, replays: true, corrections: true }),
        schedules,
        assertEachStepShown,
      ),
      seeded({ numRuns: HISTORIES, endOnFailure: true }),
    ))

  it('goes on after a tombstone that follows a record larger than a page', async () => {
    const { sql } = schema
    const workspaceId = randomUUID()
    await makeWorkspaces(sql, [workspaceId])
    for (const [position, length] of [
      [1, MOST_BYTES],
      [3, 1],
    ] as const)
      await sql`
        insert into feedback_category (workspace_id, id, title, uses, change_position)
        values (${workspaceId}, ${randomUUID()}, repeat('x', ${length}), 1, ${position})`
    await sql`
      insert into tombstone (workspace_id, position, kind, record_id)
      values (${workspaceId}, 2, 'feedback_category', ${randomUUID()})`
    await sql`update workspace_progress set change_position = 3 where workspace_id = ${workspaceId}`
    const positions: number[] = []
    let place: FeedPlace = { position: 0, passSince: undefined }
    while (place.position < 3) {
      const page = await readChanges(sql, workspaceId, { after: place, limit: 10 })
      assert.ok(page !== 'expired')
      positions.push(...page.changes.map(({ position }) => position))
      place = page.next
    }
    assert.deepEqual(positions, [1, 2, 3])
  })
})
