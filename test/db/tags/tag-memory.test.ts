import assert from 'node:assert/strict'
import process from 'node:process'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { ownId } from '../../../contract/identity/keys.ts'
import { readTexts, storeTags, type Share } from '../../../db/tags/store-tags.ts'
import { seeded } from '../../support/property-seed.ts'
import { createPurgeRig, type PurgeRig } from '../../support/purge-rig.ts'
import { sharedSchema } from '../../support/schema.ts'
import { NO_MEANING } from '../../../worker/tagging/no-meaning.ts'
import { NOTHING_FOUND } from '../../support/no-meaning.ts'

const schema = await sharedSchema()
const HISTORIES = process.env['TEST_SIZE'] === 'long' ? 500 : 25
const TAGS = ['slow', 'export', 'invoice']

const person = fc.constantFrom('ada', 'bob')
const tags = fc.option(fc.subarray(TAGS, { minLength: 1 }), { nil: undefined })
/** The steps of a workspace's history. */
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('feedback' as const), person, tags, sourceId: fc.constantFrom('1', '2') }),
    fc.record({ kind: fc.constant('conversation' as const), person, id: fc.constantFrom('1', '2') }),
    fc.record({
      kind: fc.constant('tag' as const),
      tags: fc.subarray(TAGS),
      maxTerms: fc.constantFrom(4, 1_000),
      /** How many workers store tags of the same texts. */
      workers: fc.constantFrom(1, 2),
      /** Whether they store them after the next step. */
      isLate: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant('correct' as const),
      tags: fc.option(fc.subarray(TAGS, { minLength: 1 })),
      sourceId: fc.constantFrom('1', '2'),
    }),
    fc.record({ kind: fc.constant('delete' as const), sourceId: fc.constantFrom('1', '2') }),
    fc.record({ kind: fc.constant('purge' as const), person }),
  ),
  { maxLength: 15 },
)
type Step = typeof steps extends fc.Arbitrary<(infer S)[]> ? S : never

const feedback = (sourceId: '1' | '2', given?: string[]): Step => ({
  kind: 'feedback',
  person: 'ada',
  tags: given,
  sourceId,
})
const tagging: Step = { kind: 'tag', tags: ['slow'], maxTerms: 4, workers: 2, isLate: false }
/** More terms than the memory keeps, with and without tags of people; a text with late tags. */
const EXAMPLES: [Step[]][] = [
  [[feedback('1', ['slow']), feedback('2', ['export']), tagging]],
  [[feedback('1'), feedback('2'), tagging, { kind: 'purge', person: 'ada' }]],
  [[feedback('1'), { ...tagging, isLate: true }, feedback('1')]],
]

describe('the tag memory of a workspace', () => {
  const ids = async (table: string, workspaceId: string): Promise<string[]> =>
    (await schema.sql<{ id: string }[]>`select id from ${schema.sql(table)} where workspace_id = ${workspaceId}`).map(
      ({ id }) => id,
    )
  /** Reads all texts without a share. Returns a function that stores the same tags for them. */
  const readAll = async ({ realm }: PurgeRig, given: string[], maxTerms: number): Promise<() => Promise<void>> => {
    const { workspaceId } = realm
    const wanted = { workspaceId, taggerVersion: 1, isRetag: false }
    const [feedbackIds, conversationIds] = [await ids('feedback', workspaceId), await ids('conversation', workspaceId)]
    const texts = await readTexts(schema.sql, { ...wanted, feedbackIds, conversationIds })
    const tagged = texts.map(({ record, id, number, textVersion, tags: byPeople }) => {
      const all = byPeople ?? given
      const share: Share = {
        judged: byPeople !== null,
        given: byPeople?.length ?? 0,
        terms: [1, 2, number % 7].map((hash, at) => ({
          hash: hash + at * 10,
          determined: true,
          free: at === 1,
          valued: false,
          given: at === 0,
        })),
        tags: all.map((title, at) => ({ hash: at, title })),
      }
      const meaning = {
        ...NO_MEANING,
        themeCell: number % 4 === 0 ? null : 2 + (number % 4),
        cues: number % 2 === 0 ? [] : [7, 8 + (number % 3)],
        cueCells: number % 2 === 0 ? [] : [-1, -4],
      }
      return { record, id, number, textVersion, tags: given, teaches: true, share, meaning }
    })
    return async () =>
      void (await storeTags(schema.sql, workspaceId, { taggerVersion: 1, tagged, found: NOTHING_FOUND, maxTerms }))
  }
  /**
   * The memory has at most `maxTerms` terms of texts that people tagged, and as many of other texts.
   * Only the oldest feedback of each kind is forgotten.
   */
  const assertLatestKept = async (workspaceId: string, maxTerms: number): Promise<void> => {
    const over = await schema.sql`
      select judged from tag_share where workspace_id = ${workspaceId} group by 1 having sum(terms) > ${maxTerms}`
    assert.equal(over.count, 0)
    const forgotten = await schema.sql`
      select from feedback as f where f.workspace_id = ${workspaceId} and tags is not null
        and f.number > (
          select min(s.number) from tag_share as s where s.workspace_id = ${workspaceId} and s.judged <> f.tags_generated)
        and not exists (select from tag_share as s where s.workspace_id = ${workspaceId} and s.record_id = f.id)`
    assert.equal(forgotten.count, 0)
  }
  /** Takes a step. Returns work that comes after the next step, if any. */
  const apply = async (rig: PurgeRig, step: Step): Promise<(() => Promise<unknown>) | void> => {
    switch (step.kind) {
      case 'feedback':
        return void (await rig.feedback({
          sourceId: step.sourceId,
          contactId: step.person,
          isExternalContactId: true,
          tags: step.tags,
        }))
      case 'conversation':
        return void (await rig.conversation({
          id: step.id,
          contacts: [{ id: step.person }],
          messages: [{ id: step.person, contactId: step.person }],
        }))
      case 'tag': {
        const store = await readAll(rig, step.tags, step.maxTerms)
        const storeAll = () => Promise.all(Array.from({ length: step.workers }, store))
        if (step.isLate) return storeAll
        await storeAll()
        return assertLatestKept(rig.realm.workspaceId, step.maxTerms)
      }
      case 'correct': {
        const id = ownId(rig.realm, 'feedback', 'API', step.sourceId)
        return void (await rig.apply(rig.make('correct_feedback', { id, tags: step.tags })))
      }
      case 'delete':
      case 'purge': {
        const purge = await (step.kind === 'purge'
          ? rig.decide({ id: step.person })
          : rig.decide({ id: ownId(rig.realm, 'feedback', 'API', step.sourceId) }, {}, 'delete_feedback'))
        if (purge.isMatched) await rig.remove(purge)
      }
    }
  }

  it(`is the sum of its shares, and the categories are the tags of the records, in ${HISTORIES} histories`, async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const rig = await createPurgeRig(schema.sql)
        const ws = rig.realm.workspaceId
        let late: Awaited<ReturnType<typeof apply>> = undefined
        for (const step of history) {
          const next = await apply(rig, step)
          await late?.()
          late = next
        }
        const [terms] = await schema.sql`
          select coalesce((select jsonb_agg(to_jsonb(t) - 'workspace_id' order by t.hash) from tag_term as t where t.workspace_id = ${ws}), '[]') as kept,
            coalesce((select jsonb_agg(s order by s.hash) from (
              select h.hash, count(*)::int as texts, (count(*) filter (where h.traits & 1 <> 0))::int as determined,
                (count(*) filter (where h.traits & 2 <> 0))::int as free, (count(*) filter (where h.traits & 4 <> 0))::int as valued,
                (count(*) filter (where k.judged))::int as judged, (count(*) filter (where h.traits & 8 <> 0))::int as given
              from tag_share as k cross join lateral unnest(k.hashes, k.traits) as h (hash, traits)
              where k.workspace_id = ${ws} group by h.hash) as s), '[]') as summed`
        assert.deepEqual(terms!['kept'], terms!['summed'])
        const [memory] = await schema.sql`
          select (select jsonb_agg(to_jsonb(m) - 'workspace_id') from tag_memory as m where m.workspace_id = ${ws}) as kept,
            (select jsonb_agg(s) from (
              select count(*) as texts, count(*) filter (where judged) as judged, sum(given) as given,
                coalesce(sum(terms) filter (where judged), 0) as judged_terms, sum(terms) as terms
              from tag_share where workspace_id = ${ws} having count(*) > 0) as s) as summed`
        assert.deepEqual(memory!['kept'], memory!['summed'])
        const [inUse] = await schema.sql`
          select coalesce((select jsonb_agg(to_jsonb(t) - 'workspace_id' - 'title_id' order by t.hash, t.title)
              from tag_in_use as t where t.workspace_id = ${ws}), '[]') as kept,
            coalesce((select jsonb_agg(s order by s.hash, s.title) from (
              select h.hash, h.title, count(*) filter (where k.judged) as people, count(*) filter (where not k.judged) as generated
              from tag_share as k cross join lateral unnest(k.tag_hashes, k.titles) as h (hash, title)
              where k.workspace_id = ${ws} group by 1, 2) as s), '[]') as summed`
        assert.deepEqual(inUse!['kept'], inUse!['summed'])
        const [meaning] = await schema.sql`
          select coalesce((select jsonb_agg(to_jsonb(m) - 'workspace_id' order by m.hash, m.cell)
              from meaning_sum as m where m.workspace_id = ${ws}), '[]') as kept,
            coalesce((select jsonb_agg(s order by s.hash, s.cell) from (
              select c.hash, c.cell, count(*)::int as texts from (
                select 0 as hash, 0 as cell from meaning_share where workspace_id = ${ws}
                union all
                select unnest(0::bigint || k.terms), k.theme_cell from meaning_share as k
                where k.workspace_id = ${ws} and k.theme_cell is not null
                union all
                select t.hash, u.cell from meaning_share as k cross join lateral unnest(0::bigint || k.cues) as t (hash)
                cross join lateral unnest(k.cue_cells) as u (cell) where k.workspace_id = ${ws}
              ) as c group by 1, 2) as s), '[]') as summed`
        assert.deepEqual(meaning!['kept'], meaning!['summed'])
        const [unknown] = await schema.sql`
          select count(*)::int as rows from meaning_share as k where k.workspace_id = ${ws}
            and not exists (select from feedback as f where f.workspace_id = ${ws} and f.id = k.record_id)
            and not exists (select from conversation as c where c.workspace_id = ${ws} and c.id = k.record_id)`
        assert.equal(unknown!['rows'], 0)
        const categories = await schema.sql`
          select title, uses::int as uses from feedback_category where workspace_id = ${ws} order by 1`
        const carried = await schema.sql`
          select title, count(*)::int as uses from (
            select unnest(tags) as title from feedback where workspace_id = ${ws}
            union all select unnest(tags) from conversation where workspace_id = ${ws}) as t
          group by title order by 1`
        assert.deepEqual([...categories], [...carried])
        const stray = await schema.sql`
          select from tag_share as s where s.workspace_id = ${ws}
            and not exists (select from feedback as f where f.workspace_id = ${ws} and f.id = s.record_id and tagged_version(f.number, f.corrections) = s.text_version)
            and not exists (select from conversation as c where c.workspace_id = ${ws} and c.id = s.record_id)`
        assert.equal(stray.count, 0, 'every share belongs to the latest text of a feedback, or to a conversation')
      }),
      seeded({ numRuns: HISTORIES, examples: EXAMPLES }),
    )
  })
})
