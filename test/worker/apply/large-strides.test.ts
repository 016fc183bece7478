import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import type { Submission } from '../../../contract/submission.ts'
import { createStrideStore } from '../../../db/apply/stride-store.ts'
import { findProgress, findReceipt } from '../../../db/submissions/receipts.ts'
import type { StoredState } from '../../../fold/stored.ts'
import { applyStride } from '../../../worker/apply/apply-stride.ts'
import type { StrideOutcome } from '../../../worker/apply/stride-outcome.ts'
import { applyAll } from '../../model/model.ts'
import { parsed } from '../../model/submission-arbitrary.ts'
import { openApplyRig, type ApplyRig } from '../../support/apply-rig.ts'
import { feedbackBody } from '../../support/inject.ts'
import { freshSchema, hashKey, makeWorkspaces, type TestSchema } from '../../support/schema.ts'
import { until } from '../../support/until.ts'
import { clearTables, dumpModel, dumpTables } from '../../support/tables.ts'

const FIRST = 1_000_000
/** More than one stride moves: it takes twenty steps. */
const MOVE_LIMIT = 5
const RECORDS = 130

type Given = readonly [operation: Submission['operation'], body: object]

describe('a stride', () => {
  let schema: TestSchema
  let workspaceId: string
  let position = 0
  before(async () => {
    schema = await freshSchema()
  })
  after(() => schema.drop())
  beforeEach(async () => {
    await clearTables(schema.sql)
    workspaceId = randomUUID()
    position = 0
    await makeWorkspaces(schema.sql, [workspaceId])
  })

  const limit = (name: 'move_limit' | 'metadata_limit', value: number) =>
    schema.sql.unsafe(
      `create or replace function ${name}() returns integer language sql immutable as 'select ${value}'`,
    )
  const made = (given: readonly Given[], more: Partial<Submission> = {}): Submission[] =>
    given.map(([operation, body], at) =>
      parsed({
        workspaceId,
        submissionId: randomUUID(),
        number: FIRST + position + at,
        operation,
        body,
        ...more,
      }),
    )
  const applyOnce = (submissions: readonly Submission[], from: number, store = createStrideStore(schema.sql)) =>
    applyStride(
      { sql: schema.sql, hashKey, store, purgedWorkspaces: new Set<string>() },
      { workspaceId, after: from, submissions },
      { isShared: false },
    )
  /** Applies submissions, and returns the outcome of each stride that this takes. */
  const apply = async (
    submissions: readonly Submission[],
    onStride: (outcome: StrideOutcome) => Promise<void> = async () => {},
  ): Promise<void> => {
    for (;;) {
      const outcome = await applyOnce(submissions, position === 0 ? 0 : FIRST + position - 1)
      await onStride(outcome)
      if (outcome.end === 'applied') break
      assert.equal(outcome.end, 'backlog')
    }
    position += submissions.length
  }
  const stateOf = async (id: string) => {
    const receipt = await findReceipt(schema.sql, workspaceId, id)
    const [progress] = await findProgress(schema.sql, [{ workspaceId, id }])
    assert.equal(progress?.state, receipt?.state)
    assert.equal(receipt?.finishedAt === null, receipt?.state === 'queued')
    return receipt?.state
  }

  for (const { title, before: earlier, last, linked } of [
    {
      title: 'links feedback and messages that wait for an identified contact',
      before: (at: number): Given =>
        at % 2 === 0
          ? ['create_feedback', { description: 'slow', isExternalContactId: true, contactId: 'late' }]
          : [
              'submit_conversation',
              {
                id: `c${at}`,
                source: 'desk',
                createdAt: '2026-01-01T00:00:00Z',
                contacts: [],
                messages: [
                  { id: 'm', incoming: true, content: 'slow', createdAt: '2026-01-01T00:00:00Z', contactId: 'late' },
                ],
              },
            ],
      last: ['identify_contact', { id: 'late' }] satisfies Given,
      linked: `select id from feedback where contact_id is not null union all select id from message where contact_id is not null`,
    },
    {
      title: 'links feedback that waits for an identified account',
      before: (): Given => ['create_feedback', { description: 'slow', isExternalAccountId: true, accountId: 'late' }],
      last: ['identify_account', { id: 'late' }] satisfies Given,
      linked: `select id from feedback where account_id is not null`,
    },
    {
      title: 'moves the feedback of an absorbed contact',
      before: (): Given => ['create_feedback', { description: 'slow', contact: { email: 'ann@example.org' } }],
      last: ['identify_contact', { id: 'ann', properties: { $email: 'ann@example.org' } }] satisfies Given,
      linked: `select f.id from feedback as f join contact_external_id as e on e.contact_id = f.contact_id`,
    },
  ])
    it(`${title} in steps, and reads as applied only when all have moved`, async () => {
      await limit('move_limit', MOVE_LIMIT)
      const history = made(Array.from({ length: RECORDS }, (_, at) => earlier(at)))
      await apply(history)
      const [identify] = made([last])
      const linkedNow = async () => (await schema.sql.unsafe(linked)).length
      const counts: number[] = []
      await apply([identify!], async ({ end }) => {
        counts.push(await linkedNow())
        assert.equal(await stateOf(identify!.submissionId), end === 'applied' ? 'applied' : 'queued')
        assert.equal(await stateOf(history[0]!.submissionId), 'applied', 'earlier submissions stay applied')
      })
      assert.ok(counts.length > 1, 'the records need more than one stride')
      assert.equal(counts.at(-1), RECORDS)
      assert.ok(counts.slice(0, -1).every((count) => count < RECORDS))
      assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, [...history, identify!])))
      assert.equal(
        (await schema.sql`select from unresolved`).count + (await schema.sql`select from pending_move`).count,
        0,
      )
    })

  /** Metadata of `keys` keys, some hundred bytes each. */
  const metadata = (keys: number, prefix = 'k') =>
    Object.fromEntries(Array.from({ length: keys }, (_, at) => [`${prefix}${at}`, 'x'.repeat(300)]))
  const emails = Array.from({ length: 20 }, (_, at) => `person-${at}@example.org`)
  const conversation = (contacts: readonly object[]): Given => [
    'submit_conversation',
    {
      id: 'c',
      source: 'desk',
      createdAt: '2026-01-01T00:00:00Z',
      contacts,
      messages: [{ id: 'm', incoming: true, content: 'slow', createdAt: '2026-01-01T00:00:00Z', contactId: 'p0' }],
    },
  ]
  const LARGE = metadata(10)
  const FULL = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`k${at}`, at]))

  for (const { title, earlier, last, replay } of [
    {
      title: 'absorbs many contacts with much metadata',
      earlier: emails.map((email): Given => [
        'create_feedback',
        { description: 'slow', contact: { email, name: 'A', sourceData: LARGE } },
      ]),
      last: conversation(emails.map(($email, at) => ({ id: `p${at}`, properties: { $email, k3: 'own' } }))),
    },
    {
      title: 'absorbs the account of a domain into each of many accounts, and lets one email be claimed twice',
      earlier: emails.flatMap((email, at): Given[] => [
        [
          'create_feedback',
          {
            description: 'slow',
            contact: { email, sourceData: LARGE },
            account: { domain: `d${at}.example`, sourceData: LARGE },
          },
        ],
        ['identify_contact', { id: `p${at}`, properties: metadata(8, 'own') }],
      ]),
      last: conversation(
        emails.map((_, at) => ({
          id: `p${at}`,
          properties: { $email: emails[Math.floor(at / 2)], more: at },
          account: { id: `a${at}`, properties: { $name: `A ${at}`, $domain: `d${at}.example`, k1: 'own' } },
        })),
      ),
    },
    {
      title: 'fills metadata of many newer contacts',
      earlier: emails.map((_, at): Given => [
        'identify_contact',
        { id: `p${at}`, properties: { ...LARGE, $updatedAt: '2026-02-01T00:00:00Z' } },
      ]),
      last: conversation(
        emails.map((_, at) => ({
          id: `p${at}`,
          properties: { k1: 'older', ...(at % 3 > 0 && { added: at }), $name: 'N', $updatedAt: '2026-01-01T00:00:00Z' },
        })),
      ),
    },
    {
      title: 'bounds the metadata of many contacts with the most keys',
      earlier: emails.map((_, at): Given => ['identify_contact', { id: `p${at}`, properties: FULL }]),
      last: conversation(emails.map((_, at) => ({ id: `p${at}`, properties: { added: at, k999: 'own' } }))),
    },
    {
      title: 'applies a replay to many contacts with much metadata',
      earlier: emails.map((_, at): Given => ['identify_contact', { id: `p${at}`, properties: LARGE }]),
      last: conversation(emails.map((_, at) => ({ id: `p${at}`, properties: { k1: 'older', added: at } }))),
      replay: true,
    },
  ])
    it(`${title} in parts, and a repeated part changes nothing`, async () => {
      const history = made(earlier)
      await limit('metadata_limit', 4_000_000)
      await apply(history)
      await limit('metadata_limit', 10_000)
      const [large] = made([last], replay === true ? { originalNumber: FIRST - 5 } : {})
      const own = createStrideStore(schema.sql)
      const loaded: number[] = []
      let saves = 0
      const store = {
        ...own,
        load: async (...asked: Parameters<typeof own.load>) => {
          const stored = await own.load(...asked)
          loaded.push(metadataIn(stored))
          return stored
        },
        save: async (...given: Parameters<typeof own.save>) => {
          // Dies after its second part.
          if (++saves === 3) throw new Error('killed')
          return own.save(...given)
        },
      }
      const from = FIRST + position - 1
      await assert.rejects(applyOnce([large!], from, store), { message: 'killed' })
      assert.equal((await applyOnce([large!], from, store)).end, 'applied')
      assert.ok(Math.max(...loaded) < 40_000, `a load had ${Math.max(...loaded)} bytes of metadata`)
      assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, [...history, large!])))
      assert.equal(await stateOf(large!.submissionId), 'applied')
    })

  it('of several submissions is cut where the metadata that it needs is too much for one load', async () => {
    await limit('metadata_limit', 10_000)
    const fill = (sourceData: object) =>
      emails.map((email): Given => ['create_feedback', { description: 'slow', contact: { email, sourceData } }])
    const first = made(fill(LARGE))
    await apply(first)
    const second = made([...fill({ k0: 'other', plan: 'pro' }), ...fill({ plan: 'free' })])
    await apply(second)
    assert.deepEqual(await dumpTables(schema.sql), dumpModel(applyAll(hashKey, [...first, ...second])))
  })
})

const metadataIn = ({ rows }: StoredState): number =>
  rows.reduce(
    (sum, row) =>
      sum + ('profile' in row && row.profile?.properties ? JSON.stringify(row.profile.properties).length : 0),
    0,
  )

describe('a worker with many records to move', () => {
  let rig: ApplyRig
  before(async () => {
    rig = await openApplyRig()
    await rig.sql.unsafe(
      `create or replace function move_limit() returns integer language sql immutable as 'select ${MOVE_LIMIT}'`,
    )
  })
  after(() => rig.close())
  afterEach(() => rig.startAfresh())

  it('goes on until all have moved, although no submission follows', async () => {
    const workspaceId = await rig.makeWorkspace()
    await rig.admit(
      workspaceId,
      Array.from({ length: RECORDS }, () => feedbackBody('slow', { isExternalContactId: true, contactId: 'late' })),
    )
    await rig.apply([workspaceId])
    const [id] = await rig.admit(workspaceId, [{ id: 'late' }], 'identify_contact')
    await rig.apply([workspaceId])
    await until('the moves are left to the backlog', async () => (await rig.wokenIn('backlog')).includes(workspaceId))
    const waiting = async () => (await rig.waitingIn(workspaceId)).map(({ submissionId }) => submissionId)
    let jobs = 0
    while ((await waiting()).length > 0) {
      assert.deepEqual(await waiting(), [id])
      await rig.apply([workspaceId], true)
      jobs++
    }
    assert.equal(jobs, 2)
    const linked = await rig.sql`select from feedback where workspace_id = ${workspaceId} and contact_id is not null`
    assert.deepEqual([linked.count, (await rig.sql`select from pending_move`).count], [RECORDS, 0])
  })
})
