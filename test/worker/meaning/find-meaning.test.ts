import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { moveLike, readExamples, readLike } from '../../../db/tags/place-like.ts'
import { themeCell } from '../../../meaning/cells.ts'
import { fitExamples } from '../../../meaning/place-like.ts'
import { findMeaning } from '../../../worker/meaning/find-meaning.ts'
import { tag } from '../../../worker/tagging/tagging.ts'
import { createPurgeRig, type PurgeRig } from '../../support/purge-rig.ts'
import { hashKey, sharedSchema } from '../../support/schema.ts'

const { sql } = await sharedSchema()

type Found = {
  id: string
  mood: number | null
  kind: string | null
  theme: string | null
  theme_by: string | null
  similar_id: string | null
}

/** Texts about two subjects, all of them different. */
const BATTERY = ['on holiday', 'since the update', 'in the train', 'at night', 'after an hour', 'in winter'].map(
  (when) => `The battery is empty ${when}, which is terrible.`,
)
const INVOICES = ['March', 'April', 'May', 'June', 'July', 'August'].map(
  (month) => `I love how quickly the invoice of ${month} arrived!`,
)

const CHARGED = 'I was charged twice for my order and no one answers my letters about it.'
const VISITS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'].map((day) => `Visit of ${day}`)

describe('the meaning of texts', () => {
  const submit = async (rig: PurgeRig, texts: readonly string[], more: object = {}): Promise<string[]> => {
    const ids: string[] = []
    for (const description of texts) ids.push(await rig.feedback({ description, ...more }))
    await tagAll(rig)
    return ids
  }
  const tagAll = async ({ realm: { workspaceId } }: PurgeRig, isRetag = false): Promise<void> => {
    const idsOf = async (table: string): Promise<string[]> => {
      const rows = await sql<
        { id: string }[]
      >`select id from ${sql(table)} where workspace_id = ${workspaceId} order by number`
      return rows.map(({ id }) => id)
    }
    const [feedbackIds, conversationIds] = [await idsOf('feedback'), await idsOf('conversation')]
    await tag({ sql, hashKey }, { workspaceId, feedbackIds, conversationIds, isRetag })
  }
  const read = async ({ realm: { workspaceId } }: PurgeRig): Promise<Map<string, Found>> => {
    const rows = await sql<Found[]>`
      select id, mood, kind, theme_name as theme, theme_by, similar_id from feedback_view where workspace_id = ${workspaceId}`
    return new Map(rows.map((row) => [row.id, row]))
  }
  const correct = async (rig: PurgeRig, id: string, members: object): Promise<void> => {
    await rig.apply(rig.make('correct_feedback', { id, ...members }))
    await tagAll(rig)
  }

  it('are themes that tags open, and moods, which stay when more texts come', async () => {
    const rig = await createPurgeRig(sql)
    const ids = await submit(rig, [...BATTERY, ...INVOICES])
    const found = await read(rig)
    const themes = ids.map((id) => found.get(id)?.theme)
    assert.deepEqual(new Set(themes.slice(0, BATTERY.length)), new Set(['battery']))
    assert.deepEqual(new Set(themes.slice(BATTERY.length)), new Set(['invoice']))
    for (const id of ids.slice(0, BATTERY.length)) assert.ok(found.get(id)!.mood! < 0)
    for (const id of ids.slice(BATTERY.length)) assert.ok(found.get(id)!.mood! > 0)
    await submit(
      rig,
      Array.from({ length: 30 }, (_, at) => `The invoice number ${at} has a battery of errors`),
    )
    await tagAll(rig, true)
    const later = await read(rig)
    assert.deepEqual(
      ids.map((id) => later.get(id)?.theme),
      themes,
    )
  })

  it('have one theme for words of one meaning, also in a later job', async () => {
    const rig = await createPurgeRig(sql)
    await submit(rig, ['The luggage was lost in Rome.', 'Where is the luggage from Oslo?', 'My luggage arrived wet.'])
    const ids = await submit(rig, ['Our bag has a hole.', 'The bag came three days late.', 'My bag never came.'])
    const found = await read(rig)
    for (const id of ids) assert.deepEqual([found.get(id)?.theme, found.get(id)?.theme_by], ['luggage', 'tag'])
  })

  it('are set by a person, and found again when the person takes it back', async () => {
    const rig = await createPurgeRig(sql)
    const [first, ...ids] = await submit(rig, [...BATTERY, ...INVOICES])
    const before = (await read(rig)).get(first!)!
    const theme = await rig.apply(rig.make('create_theme', { name: 'Power', feedbackIds: [first!] }))
    await correct(rig, first!, { kind: 'question' })
    const [set, others] = [(await read(rig)).get(first!)!, await read(rig)]
    assert.deepEqual([set.theme, set.theme_by, set.kind], ['Power', 'person', 'question'])
    assert.ok(ids.every((id) => others.get(id)?.theme !== 'Power'))
    await rig.apply(rig.make('edit_theme', { id: theme, removedFeedbackIds: [first!] }))
    await correct(rig, first!, { kind: null })
    // By the seed of the workspace, the text may be nearly the same as the next one.
    assert.deepEqual({ ...(await read(rig)).get(first!), similar_id: before.similar_id }, before)
  })

  it('move to themes of people by the command alone, if they were placed by likeness', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    const ids = await submit(rig, [...BATTERY, ...INVOICES])
    await sql`update feedback set theme_by = 'likeness' where workspace_id = ${workspaceId}`
    const [power, bills] = [ids.slice(0, 3), ids.slice(BATTERY.length, BATTERY.length + 3)]
    await rig.apply(rig.make('create_theme', { name: 'Power', feedbackIds: power }))
    await rig.apply(rig.make('create_theme', { name: 'Bills', feedbackIds: bills }))
    await tagAll(rig)
    const placeLike = fitExamples(await readExamples(sql, workspaceId))!
    let moved = 0
    for await (const page of readLike(sql, workspaceId))
      moved += await moveLike(
        sql,
        workspaceId,
        page.map(({ id, terms }) => {
          const { theme } = placeLike(terms)
          return { id, theme, cell: themeCell({ theme, by: 'likeness' }) }
        }),
      )
    assert.equal(moved, BATTERY.length + INVOICES.length - 6)
    const found = await read(rig)
    assert.deepEqual(
      ids.map((id) => found.get(id)?.theme),
      [...BATTERY.map(() => 'Power'), ...INVOICES.map(() => 'Bills')],
    )
  })

  it('have an id that nearly the same texts share, as long as there are two', async () => {
    const rig = await createPurgeRig(sql)
    await rig.identify({ id: 'a', properties: {} })
    const more = { contactId: 'a', isExternalContactId: true }
    const [one] = await submit(rig, [CHARGED, 'Something else entirely'], {})
    const [other] = await submit(rig, [CHARGED.replace('letters', 'letter').toUpperCase()], more)
    const found = await read(rig)
    assert.ok(found.get(one!)?.similar_id)
    assert.equal(found.get(one!)?.similar_id, found.get(other!)?.similar_id)
    assert.equal([...found.values()].filter(({ similar_id }) => similar_id !== null).length, 2)
    await rig.purge({ id: 'a' })
    assert.equal((await read(rig)).get(one!)?.similar_id, null)
  })

  /** Purges the contact while the tagger holds its texts. */
  const findThenPurge =
    (rig: PurgeRig): typeof findMeaning =>
    async (...asked) => {
      const found = await findMeaning(...asked)
      await rig.purge({ id: 'a' })
      return found
    }
  const withSimilar = async (rig: PurgeRig): Promise<Found[]> =>
    [...(await read(rig)).values()].filter(({ similar_id }) => similar_id !== null)

  it('have no such id alone, when the other text is replaced', async () => {
    const rig = await createPurgeRig(sql)
    const sent = { source: 'Mail', sourceId: '1' }
    await submit(rig, [CHARGED], sent)
    await submit(rig, [CHARGED.toUpperCase()])
    assert.equal((await withSimilar(rig)).length, 2)
    await submit(rig, ['Something else entirely'], sent)
    assert.deepEqual(await withSimilar(rig), [])
  })

  it('have no such id alone, when the other text is purged while the tagger reads', async () => {
    const rig = await createPurgeRig(sql)
    await rig.identify({ id: 'a', properties: {} })
    await submit(rig, [CHARGED], { contactId: 'a', isExternalContactId: true })
    const last = await rig.feedback({ description: CHARGED.toUpperCase() })
    const { workspaceId } = rig.realm
    await tag(
      { sql, hashKey, findMeaning: findThenPurge(rig) },
      { workspaceId, feedbackIds: [last], conversationIds: [] },
    )
    assert.equal((await read(rig)).size, 1)
    assert.deepEqual(await withSimilar(rig), [])
  })

  it('leave nothing of purged texts, and no theme that only they had', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    await rig.identify({ id: 'a', properties: {} })
    await submit(rig, BATTERY, { contactId: 'a', isExternalContactId: true })
    assert.equal((await sql`select from theme where workspace_id = ${workspaceId}`).count, 1)
    await rig.purge({ id: 'a' })
    for (const table of ['theme', 'meaning_share', 'meaning_sum', 'text_band', 'tag_term'])
      assert.equal((await sql`select from ${sql(table)} where workspace_id = ${workspaceId}`).count, 0, table)
    const gone = await sql`select from tombstone where workspace_id = ${workspaceId} and kind = 'theme'`
    assert.equal(gone.count, 1)
  })

  for (const title of ['Ada Lovelace', 'Double  Space', 'STRAẞE', 'ÄRGER Über'])
    it(`leave no theme that only a purged person's tag "${title}" named`, async () => {
      const rig = await createPurgeRig(sql)
      const { workspaceId } = rig.realm
      await rig.identify({ id: 'a', properties: {} })
      await submit(rig, VISITS, { contactId: 'a', isExternalContactId: true, tags: [title] })
      const themes = (): Promise<object[]> => sql`select name from theme where workspace_id = ${workspaceId}`.execute()
      assert.equal((await themes()).length, 1)
      await rig.purge({ id: 'a' })
      assert.deepEqual([...(await themes())], [])
    })

  it('open no theme for texts that are purged while the tagger reads', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    await rig.identify({ id: 'a', properties: {} })
    const theirs = { contactId: 'a', isExternalContactId: true, tags: ['zorksecret'] }
    const ids: string[] = []
    for (const description of VISITS) ids.push(await rig.feedback({ description, ...theirs }))
    await tag({ sql, hashKey, findMeaning: findThenPurge(rig) }, { workspaceId, feedbackIds: ids, conversationIds: [] })
    assert.equal((await sql`select from theme where workspace_id = ${workspaceId}`).count, 0)
  })

  it('go with the last text of the theme, although another text has a tag that could name it', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    await rig.identify({ id: 'a', properties: {} })
    const theirs = { contactId: 'a', isExternalContactId: true }
    await submit(rig, VISITS, { ...theirs, tags: ['gizmozap'] })
    await submit(rig, ['Both of them'], { ...theirs, tags: ['gizmozap', 'lampqueue'] })
    await submit(rig, ['One of them'], { tags: ['lampqueue'] })
    await rig.purge({ id: 'a' })
    assert.deepEqual([...(await sql`select name from theme where workspace_id = ${workspaceId}`)], [])
  })

  it('keep the theme name while a text has its tag in another spelling', async () => {
    const rig = await createPurgeRig(sql)
    await rig.identify({ id: 'a', properties: {} })
    const theirs = { contactId: 'a', isExternalContactId: true, tags: ['Ada Lovelace'] }
    await submit(rig, VISITS, theirs)
    const [id] = await submit(rig, ['Visit of Sunday'], { tags: ['ada lovelace'] })
    await rig.purge({ id: 'a' })
    assert.equal((await read(rig)).get(id!)?.theme, 'ada lovelace')
  })

  it('of a conversation are found again when a purge shortens it', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    for (const id of ['1', '2', '3'])
      await rig.conversation({
        id,
        contacts: [{ id: 'peter' }, { id: 'bob' }],
        messages: [
          { id: 'p', contactId: 'peter', content: 'The refund is late, where is my refund?' },
          { id: 'b', contactId: 'bob', content: 'Thanks a lot!' },
        ],
      })
    await tagAll(rig)
    const named = (): Promise<object[]> =>
      sql`select t.name from conversation as c left join theme as t on t.workspace_id = c.workspace_id and t.id = c.theme_id
        where c.workspace_id = ${workspaceId}`.execute()
    assert.deepEqual([...(await named())], Array(3).fill({ name: 'refund' }))
    await rig.purge({ id: 'peter' })
    await tagAll(rig)
    assert.deepEqual([...(await named())], Array(3).fill({ name: null }))
    assert.deepEqual([...(await sql`select name from theme where workspace_id = ${workspaceId}`)], [])
  })

  it('stay after an undone correction, if they were found during the correction', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    const [late, early, plain] = await submit(rig, ['My zeppelin leaks', 'A zeppelin landed', 'One zeppelin is loud'], {
      tags: [],
    })
    await correct(rig, late!, { isHidden: true })
    await correct(rig, early!, { rating: 2 })
    const opened = await submit(rig, BATTERY)
    const placed = async (by: string): Promise<void> => {
      const [theme] = await sql<[{ id: string; number: number }]>`
        select t.id, t.number from theme as t join feedback as f on f.workspace_id = t.workspace_id and f.theme_id = t.id
        where f.workspace_id = ${workspaceId} and f.id = ${opened[0]!}`
      const cell = themeCell({ theme: theme.number, by: 'likeness' })
      const waiting = [late, early, plain].map((id) => ({ id, theme: theme.number, theme_cell: cell, cell }))
      await sql`select ${sql.unsafe(by)}(${workspaceId}, ${sql.json(waiting)})`
    }
    await placed('place_waiting')
    await correct(rig, late!, { isHidden: null })
    await correct(rig, early!, { rating: null })
    const found = await read(rig)
    for (const id of [late, early, plain])
      assert.deepEqual([found.get(id!)?.theme, found.get(id!)?.theme_by], ['battery', 'likeness'])
  })

  it('are found again when the theme from before a correction is gone', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    const ids = await submit(rig, BATTERY)
    const theme = await rig.apply(rig.make('create_theme', { name: 'Power', feedbackIds: ids }))
    for (const id of ids) await correct(rig, id, { tags: ['charger'] })
    await rig.identify({ id: 'a', properties: {} })
    await submit(rig, ['Something else'], { contactId: 'a', isExternalContactId: true })
    await rig.purge({ id: 'a' })
    assert.deepEqual([...(await sql`select name from theme where workspace_id = ${workspaceId}`)], [{ name: 'Power' }])
    await rig.apply(rig.make('edit_theme', { id: theme, removedFeedbackIds: ids }))
    await tagAll(rig)
    const found = await read(rig)
    assert.deepEqual(
      ids.map((id) => [found.get(id)?.theme, found.get(id)?.theme_by]),
      ids.map(() => ['charger', 'tag']),
    )
  })
})
