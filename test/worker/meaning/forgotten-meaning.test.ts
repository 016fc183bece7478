import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findMeaning } from '../../../worker/meaning/find-meaning.ts'
import { tag } from '../../../worker/tagging/tagging.ts'
import { BATTERY, type Found, meaningOf } from '../../support/meaning-of.ts'
import { createPurgeRig, type PurgeRig } from '../../support/purge-rig.ts'
import { hashKey, sharedSchema } from '../../support/schema.ts'

const { sql } = await sharedSchema()
const { submit, tagAll, read, correct } = meaningOf(sql)

const CHARGED = 'I was charged twice for my order and no one answers my letters about it.'
const VISITS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'].map((day) => `Visit of ${day}`)
const THREE = ['1', '2', '3']

describe('the meaning of texts that are gone', () => {
  /** Purges the contact while the tagger holds its texts for the first time. */
  const findThenPurge = (rig: PurgeRig): typeof findMeaning => {
    let isPurged = false
    return async (...asked) => {
      const found = await findMeaning(...asked)
      if (!isPurged) await rig.purge({ id: 'a' })
      isPurged = true
      return found
    }
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

  it('take no text into a theme that ends while the tagger reads', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    await rig.identify({ id: 'a', properties: {} })
    await submit(rig, VISITS, { contactId: 'a', isExternalContactId: true, tags: ['gizmozap'] })
    const last = await rig.feedback({ description: 'One more', tags: ['gizmozap'] })
    await tag(
      { sql, hashKey, findMeaning: findThenPurge(rig) },
      { workspaceId, feedbackIds: [last], conversationIds: [] },
    )
    const { theme, theme_by } = (await read(rig)).get(last)!
    assert.deepEqual([theme, theme_by], [null, null])
    const inTheme = await sql`select from meaning_share where workspace_id = ${workspaceId} and theme_cell is not null`
    assert.equal(inTheme.count, 0)
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
    for (const id of THREE)
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
    assert.deepEqual(
      [...(await named())],
      THREE.map(() => ({ name: 'refund' })),
    )
    await rig.purge({ id: 'peter' })
    await tagAll(rig)
    assert.deepEqual(
      [...(await named())],
      THREE.map(() => ({ name: null })),
    )
    assert.deepEqual([...(await sql`select name from theme where workspace_id = ${workspaceId}`)], [])
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
