import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findNoMeaning } from '../../../worker/tagging/no-meaning.ts'
import { tag } from '../../../worker/tagging/tagging.ts'
import { createPurgeRig } from '../../support/purge-rig.ts'
import { hashKey, sharedSchema } from '../../support/schema.ts'

const { sql } = await sharedSchema()

describe('a tagger without meaning', () => {
  it('generates tags, opens no theme, and leaves what people set', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    const texts = ['January', 'March', 'June'].map((month) => `The invoice of ${month} has a wrong address.`)
    const feedbackIds: string[] = []
    for (const description of texts) feedbackIds.push(await rig.feedback({ description }))
    const [first] = feedbackIds
    await rig.apply(rig.make('create_theme', { name: 'Bills', feedbackIds: [first!] }))
    await rig.apply(rig.make('correct_feedback', { id: first!, kind: 'question' }))
    const job = { workspaceId, feedbackIds, conversationIds: [] }
    assert.equal(await tag({ sql, hashKey, findMeaning: findNoMeaning }, job), texts.length)
    const found = await sql<{ id: string; tags: string[] }[]>`
      select id, tags, mood, kind, theme_name, theme_by, similar_id from feedback_view
      where workspace_id = ${workspaceId} order by array_position(${feedbackIds}::uuid[], id)`
    const nothing = { mood: null, kind: null, theme_name: null, theme_by: null, similar_id: null }
    const tags = ['invoice']
    assert.deepEqual(
      found.map(({ tags: own, ...row }) => ({ ...row, tags: own.slice(0, 1) })),
      feedbackIds.map((id) => ({
        id,
        ...nothing,
        tags,
        ...(id === first && { kind: 'question', theme_name: 'Bills', theme_by: 'person' }),
      })),
    )
  })
})
