import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import type { SourceSettings } from '../../contract/source-settings.ts'
import { listSources, setSource } from '../../db/sources.ts'
import { makeWorkspaces, sharedSchema } from '../support/schema.ts'

const { sql } = await sharedSchema()

type Given = [ratings: number, least: number | null, most: number | null, settings?: SourceSettings]
const newSource = async (...[ratings, least, most, settings]: Given) => {
  const workspaceId = randomUUID()
  await makeWorkspaces(sql, [workspaceId])
  await sql`insert into source ${sql({ workspace_id: workspaceId, source: 'Shop', ratings, least_rating: least, most_rating: most })}`
  if (settings) await setSource(sql, { workspaceId, source: 'Shop' }, settings)
  const [source] = await listSources(sql, workspaceId)
  return { workspaceId, source: source! }
}
const scaleOf = async (...given: Given) => (await newSource(...given)).source.scale

describe('the scale of a source', () => {
  it('is shown by 20 ratings: 1 to 5, or 0 to 10 with one of 6 or more', async () => {
    assert.equal(await scaleOf(19, 1, 5), null)
    assert.deepEqual(await scaleOf(20, 1, 5), [1, 5])
    assert.deepEqual(await scaleOf(20, 2, 3), [1, 5])
    assert.deepEqual(await scaleOf(20, 0, 10), [0, 10])
    assert.deepEqual(await scaleOf(20, 1, 6), [0, 10])
    for (const [least, most] of [
      [0, 5],
      [-1, 5],
      [0, 100],
      [1, 5.5],
    ] as const)
      assert.equal(await scaleOf(20, least, most), null, `${least} to ${most}`)
  })

  it('is the one that a person gave, or none if a person says so', async () => {
    assert.deepEqual(await scaleOf(20, 1, 5, { scale: [0, 100] }), [0, 100])
    assert.equal(await scaleOf(20, 1, 5, { scale: null }), null)
    assert.deepEqual(await scaleOf(20, 1, 5, { link: 'https://shop.example/{sourceId}' }), [1, 5])
  })

  it('gives ratings within it a satisfaction from 0 to 1', async () => {
    const { workspaceId } = await newSource(20, 0, 10)
    const ratings = [0, 2.5, 10, 11, -1, null]
    for (const [at, rating] of ratings.entries())
      await sql`insert into feedback ${sql({
        workspace_id: workspaceId,
        id: randomUUID(),
        description: 'x',
        tags_generated: false,
        source: 'Shop',
        rating,
        first_number: at + 1,
        number: at + 1,
        change_position: at + 1,
      })}`
    const rows = await sql<{ satisfaction: number | null }[]>`
      select satisfaction from feedback_view where workspace_id = ${workspaceId} order by updated_at`
    assert.deepEqual(
      rows.map(({ satisfaction }) => satisfaction),
      [0, 0.25, 1, null, null, null],
    )
  })
})
