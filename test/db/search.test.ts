import assert from 'node:assert/strict'
import process from 'node:process'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { TAGGER_VERSION } from '../../contract/jobs.ts'
import { countFeedback } from '../../db/reads/counts.ts'
import type { FeedbackFilters } from '../../db/reads/filters.ts'
import { readList } from '../../db/reads/lists.ts'
import type { ListPlace } from '../../db/reads/records.ts'
import { withStoredHashes } from '../../db/reads/search.ts'
import { readRetagPages } from '../../db/tags/retag.ts'
import { readTexts } from '../../db/tags/store-tags.ts'
import { storedHashes } from '../../db/tags/tag-hashes.ts'
import { parseSearch } from '../../contract/search.ts'
import { searchOf } from '../../tagger/searched-words.ts'
import { hashesOfText } from '../../tagger/text-words.ts'
import { tag } from '../../worker/tagging/tagging.ts'
import { seeded } from '../support/property-seed.ts'
import { hasRow, searched, searchStep as step, START, textOf, wordsIn } from '../support/search-arbitrary.ts'
import { createPurgeRig, type PurgeRig } from '../support/purge-rig.ts'
import { hashKey, sharedSchema } from '../support/schema.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const { sql } = await sharedSchema()

type Row = { id: string; text: string; of: string }
type Kind = 'feedback' | 'conversation'

describe('the search index', () => {
  /** The texts in the order of lists of their records. `of`: the record that a search finds. */
  const stored = (workspaceId: string, kind: Kind = 'feedback') =>
    kind === 'feedback'
      ? sql<Row[]>`
          select id, concat_ws(E'\n', title, description) as text, id as of from feedback where workspace_id = ${workspaceId}
          order by created_at desc, id desc`
      : sql<Row[]>`
          select t.id, t.text, c.id as of from (
            select id, id as of, coalesce(title, '') as text from conversation where workspace_id = ${workspaceId}
            union all select id, conversation_id, content from message where workspace_id = ${workspaceId}
          ) as t
          join conversation as c on c.id = t.of where c.workspace_id = ${workspaceId} order by c.created_at desc, c.id desc`
  const idsOf = async (workspaceId: string, kind?: Kind): Promise<string[]> => [
    ...new Set((await stored(workspaceId, kind)).map((row) => row.of)),
  ]

  /** Tags and indexes all texts, feedback once by tags and once for the index alone. */
  const tagAll = async ({ realm: { workspaceId } }: PurgeRig): Promise<void> => {
    const feedbackIds = await idsOf(workspaceId)
    const conversationIds = await idsOf(workspaceId, 'conversation')
    await tag({ sql, hashKey }, { workspaceId, feedbackIds, conversationIds, indexedIds: feedbackIds })
  }

  /** Files the blocks that are not full yet, as if they were full. */
  const fileAll = async (workspaceId: string): Promise<void> => {
    const rows = await sql<{ block: number }[]>`
      select block from search_span where workspace_id = ${workspaceId} and not is_filed`
    for (const { block } of rows) await sql`select file_block(${workspaceId}::uuid, ${block}::int)`
  }

  const walk = async (
    workspaceId: string,
    filters: FeedbackFilters,
    { kind = 'feedback', ...given }: { kind?: Kind; limit: number; isOldestFirst?: boolean },
  ) => {
    const found: string[] = []
    let after: ListPlace | undefined
    let unknownWords: string[] | undefined
    do {
      const request = { workspaceId, kind, filters, after, isOldestFirst: false, ...given }
      const page = await readList(sql, withStoredHashes(hashKey, request), 3)
      assert.ok(page.records.length <= given.limit)
      found.push(...page.records.map((record) => (JSON.parse(record) as { id: string }).id))
      unknownWords ??= page.unknownWords
      after = page.next
    } while (after !== undefined)
    return { found, unknownWords }
  }

  /** The index has the hashes of all stored texts, and no others, each in its place. */
  const assertExact = async ({ realm }: PurgeRig): Promise<void> => {
    const { workspaceId } = realm
    const texts = [...(await stored(workspaceId)), ...(await stored(workspaceId, 'conversation'))]
    const expected = texts.flatMap(({ id, text }) =>
      storedHashes(realm, hashesOfText(text)).map((hash) => `${id} ${hash}`),
    )
    const entries = await sql<{ entry: string }[]>`
      select record_id || ' ' || unnest(hashes) as entry from search_text where workspace_id = ${workspaceId}`
    assert.deepEqual(entries.map(({ entry }) => entry).toSorted(), expected.toSorted())
    const filed = await sql<{ entry: string }[]>`
      select b.block * 1024 + p.place || ' ' || b.hash as entry
      from search_block as b cross join lateral unnest(b.places) as p (place) where b.workspace_id = ${workspaceId}`
    const toFile = await sql<{ entry: string }[]>`
      select t.number || ' ' || unnest(t.hashes) as entry from search_text as t
      join search_span as s on s.workspace_id = t.workspace_id and s.block = t.number / 1024 and s.is_filed
      where t.workspace_id = ${workspaceId}`
    assert.deepEqual(filed.map(({ entry }) => entry).toSorted(), toFile.map(({ entry }) => entry).toSorted())
    const empty = await sql`select from search_block where workspace_id = ${workspaceId} and places = '{}'`
    assert.equal(empty.count, 0)
    const [sums] = await sql<[{ texts: number }]>`
      select coalesce(sum(texts), 0)::int as texts from search_span where workspace_id = ${workspaceId}`
    assert.equal(sums.texts, texts.length)
    assert.equal(
      new Set(entries.map(({ entry }) => entry.split(' ')[0])).size,
      texts.filter(({ text }) => hashesOfText(text).length > 0).length,
    )
  }

  it('finds what a plain look at all texts finds, after submissions, replacements and purges', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 14 }),
        fc.array(searched, { minLength: 6, maxLength: 6 }),
        fc.record({ limit: fc.integer({ min: 1, max: 4 }), isOldestFirst: fc.boolean() }),
        async (history, searches, { limit, isOldestFirst }) => {
          const rig = await createPurgeRig(sql)
          const { workspaceId } = rig.realm
          let late: (() => Promise<unknown>) | undefined
          for (const each of history) {
            const before = late
            late = undefined
            if (each.kind === 'feedback') {
              const { sourceId, tags, text, title, day } = each
              await rig.feedback({
                description: [START, ...text.map((given) => given.text)].join(' '),
                title: title?.text,
                ...(sourceId && { sourceId, source: 'Help' }),
                ...(tags && { tags }),
                ...(day && { createdAt: `2026-01-${String(day).padStart(2, '0')}T00:00:00Z` }),
                contact: { email: `${each.person}@example.org` },
              })
            } else if (each.kind === 'conversation') {
              await rig.conversation({
                id: each.id,
                title: each.title?.text,
                contacts: each.messages.map((message) => ({
                  id: message.person,
                  email: `${message.person}@example.org`,
                })),
                messages: each.messages.map(({ id, incoming, text, person: contactId }) => ({
                  id,
                  incoming,
                  contactId,
                  content: [START, ...text.map((given) => given.text)].join(' '),
                })),
              })
            } else if (each.kind === 'correct' || each.kind === 'delete') {
              const [id] = await idsOf(workspaceId)
              if (id === undefined) continue
              if (each.kind === 'correct') await rig.apply(rig.make('correct_feedback', { id, tags: each.tags }))
              else await rig.remove(await rig.decide({ id }, {}, 'delete_feedback'))
            } else if (each.kind === 'file') await fileAll(workspaceId)
            else if (each.kind === 'purge') await rig.purge({ email: `${each.person}@example.org` }).catch(() => {})
            else if (each.isLate) {
              const feedbackIds = await idsOf(workspaceId)
              const wanted = {
                workspaceId,
                feedbackIds,
                conversationIds: [],
                taggerVersion: TAGGER_VERSION,
                isRetag: false,
              }
              await readTexts(sql, wanted)
              late = () => tag({ sql, hashKey }, { workspaceId, feedbackIds, conversationIds: [] })
            } else await tagAll(rig)
            await before?.()
          }
          await tagAll(rig)
          await assertExact(rig)
          for (const kind of ['feedback', 'conversation'] as const) {
            const texts = (await stored(workspaceId, kind)).map((row) => ({ of: row.of, words: wordsIn(row.text) }))
            const all = new Set(texts.flatMap((each) => each.words))
            for (const parts of searches) {
              const q = searchOf(parseSearch(textOf(parts))!)
              const matching = texts.filter((text) =>
                parts.every((terms) => terms.some((row) => hasRow(text.words, row))),
              )
              const expected = [...new Set(matching.map((text) => text.of))]
              const { found, unknownWords } = await walk(workspaceId, { q }, { kind, limit, isOldestFirst })
              assert.deepEqual(found, isOldestFirst ? expected.toReversed() : expected, `${kind} ${textOf(parts)}`)
              if (expected.length === 0) {
                const unknown = new Set(parts.flat(2).filter((each) => !all.has(each)))
                assert.deepEqual(new Set(unknownWords), new Set([...unknown].map((each) => each.replace('ς', 'σ'))))
              }
              const filters = { q }
              const asked = withStoredHashes(hashKey, {
                workspaceId,
                of: kind,
                filters,
                by: ['source'] as const,
                limit: 9,
              })
              assert.equal((await countFeedback(sql, asked)).total.feedback, expected.length)
            }
          }
        },
      ),
      seeded({ numRuns: LONG ? 300 : 15 }),
    )
  })

  it('has no hash of a word after the purge of all texts that had it', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    const people = LONG ? 1_010 : 60
    for (let at = 0; at < people; at += 1) {
      await rig.feedback({ description: `only${at} and shared`, contact: { email: `p${at}@example.org` } })
    }
    await tagAll(rig)
    await fileAll(workspaceId)
    for (let at = 10; at < people; at += 1) await rig.purge({ email: `p${at}@example.org` })
    await assertExact(rig)
    const hashes = await sql<{ hash: number }[]>`
      select distinct hash::float8 as hash from search_block where workspace_id = ${workspaceId}`
    const left = storedHashes(rig.realm, [
      ...new Set((await stored(workspaceId)).flatMap(({ text }) => hashesOfText(text))),
    ])
    assert.equal(left.length, 12)
    assert.deepEqual(new Set(hashes.map(({ hash }) => hash)), new Set(left))
  })

  it('is completed by tagging again, for feedback with tags of people as well', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    await rig.feedback({ description: 'the login fails', tags: ['given'] })
    const wanted = {
      workspaceId,
      source: undefined,
      since: undefined,
      until: undefined,
      olderThanVersion: TAGGER_VERSION,
    }
    const pages = () => Array.fromAsync(readRetagPages(sql, wanted, 10))
    const feedbackIds = await idsOf(workspaceId)
    assert.deepEqual(await pages(), [{ table: 'feedback', workspaceId, ids: feedbackIds }])
    await tag({ sql, hashKey }, { workspaceId, feedbackIds, conversationIds: [], isRetag: true })
    await assertExact(rig)
    assert.deepEqual(await pages(), [])
  })

  it('finds the newest first in texts of several blocks, with other filters, from any place', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    const count = 2_500
    // Two sources, one after the other, over the same days: blocks overlap in time.
    await sql`
      insert into feedback (workspace_id, id, description, tags_generated, source, rating, source_created_at, first_number,
        number, change_position)
      select ${workspaceId}, md5('f' || n)::uuid, 'the login' || case when n % 7 = 0 then ' rare' else '' end ||
        case when n % 2 = 0 then ' failed twice' else ' twice failed' end, true, 'S' || n / 1250, n % 5,
        timestamptz '2026-01-01T00:00:00Z' + interval '1 minute' * (n % 1250 / 3), n + 1, n + 1, n + 1
      from generate_series(0, ${count - 1}) as n`
    await tagAll(rig)
    const [{ blocks }] = await sql<[{ blocks: number }]>`
      select count(*)::int as blocks from search_span where workspace_id = ${workspaceId}`
    assert.equal(blocks, 3)
    const cases: [q: string, filters: FeedbackFilters, sqlOfAll: string][] = [
      ['login', {}, 'true'],
      ['logins rare', { source: 'S1' }, `description like '%rare%' and source = 'S1'`],
      ['"failing twice"', {}, `description like '%failed twice'`],
      ['"failed twice" rare', { ratingMax: 2 }, `description like '%rare failed twice' and rating <= 2`],
      [
        'rare',
        { createdFrom: '2026-01-01T02:00:00Z', createdTo: '2026-01-01T03:00:00Z' },
        `description like '%rare%' and created_at >= '2026-01-01T02:00:00Z' and created_at < '2026-01-01T03:00:00Z'`,
      ],
    ]
    for (const [text, filters, condition] of cases) {
      const rows = await sql.unsafe<{ id: string }[]>(
        `select id from feedback where workspace_id = '${workspaceId}' and ${condition} order by created_at desc, id desc`,
      )
      const expected = rows.map(({ id }) => id)
      assert.ok(expected.length > 0)
      const q = searchOf(parseSearch(text)!)
      for (const limit of [90, 500]) {
        assert.deepEqual((await walk(workspaceId, { ...filters, q }, { limit })).found, expected, text)
        const oldest = await walk(workspaceId, { ...filters, q }, { limit, isOldestFirst: true })
        assert.deepEqual(oldest.found, expected.toReversed(), text)
      }
    }
  })
})
