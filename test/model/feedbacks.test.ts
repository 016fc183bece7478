import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clerksAfter } from './model.ts'
import { accepted, after, feedback, hashKey, idOf, replayed, submissionId, workspaceId } from './submissions.ts'

describe('a feedback', () => {
  it('is replaced as a whole by the next one with its source id, under the same id; contact and project rows stay', () => {
    const first = { sourceId: 'T', title: 'Search', tags: [' ui', 'ui', 'Speed'], rating: 4 }
    const tables = after(
      feedback({ ...first, contact: { email: 'ann@example.org' }, project: { name: 'Web' } }),
      feedback({ sourceId: 'T', source: 'API', shouldUnflattenSourceData: true, sourceData: { 'a.b': 1 } }),
      feedback({
        projectId: idOf('project', 'Web'),
        project: { name: 'Other' },
        tags: ['ui', ' ui', 'UI'],
        sourceData: { 'a.b': 1 },
      }),
    )
    assert.deepEqual(
      tables.feedback.find(({ source_id }) => source_id === 'T'),
      {
        workspace_id: workspaceId,
        id: idOf('feedback', 'API', 'T'),
        description: 'slow',
        title: null,
        is_transcript: null,
        tags: null,
        tags_generated: true,
        rating: null,
        source: 'API',
        source_id: 'T',
        source_data: { a: { b: 1 } },
        contact_id: null,
        account_id: null,
        project_id: null,
        created_at: '1970-01-01T00:00:00.000Z',
        accepted_number: 1,
        updated_number: 2,
      },
    )
    const other = tables.feedback.find(({ source_id }) => source_id === null)
    assert.deepEqual([other?.tags, other?.source_data], [['ui', 'UI'], { 'a.b': 1 }])
    assert.equal(other?.project_id, idOf('project', 'Web'))
    assert.deepEqual(tables.project, [{ workspace_id: workspaceId, id: idOf('project', 'Web'), name: 'Web' }])
    assert.deepEqual(
      tables.feedback_category.map(({ title }) => title),
      ['UI', 'ui'],
    )
    assert.equal(tables.contact.length, 1)
  })

  it('is identified by its source (API by default) and source id, and is new without a source id', () => {
    const sources = [{}, { source: null }, { source: 'API' }, { source: 'desk' }]
    const tables = after(
      ...sources.map((source) => feedback({ sourceId: 'T', ...source })),
      feedback({}),
      feedback({ sourceId: null }),
    )
    assert.deepEqual(
      new Set(tables.feedback.map(({ id }) => id)),
      new Set([idOf('feedback', 'API', 'T'), idOf('feedback', 'desk', 'T'), submissionId(5), submissionId(6)]),
    )
  })

  it('finds its project by the exact name, and by the id of an answer', () => {
    const WEB = idOf('project', 'Web')
    const tables = after(
      feedback({ project: { name: 'Web' } }),
      feedback({ project: { id: WEB } }),
      feedback({ projectId: WEB }),
      feedback({ project: { name: 'WEB' } }),
    )
    const projects = new Map(tables.feedback.map(({ id, project_id }) => [id, project_id]))
    assert.deepEqual(
      [1, 2, 3, 4].map((number) => projects.get(submissionId(number))),
      [WEB, WEB, WEB, idOf('project', 'WEB')],
    )
  })

  it('is not changed by the replay of an older one, which then writes nothing', () => {
    const newer = feedback({ sourceId: 'T', title: 'new' })
    const older = feedback({ sourceId: 'T', title: 'old', contact: { email: 'ann@example.org' } })
    const tables = after(newer, replayed(older, 0))
    assert.deepEqual([tables.feedback[0]?.title, tables.contact], ['new', []])
    const clerk = clerksAfter(hashKey, accepted([newer, replayed(older, 0)])).get(workspaceId)
    assert.deepEqual([...(clerk?.superseded ?? [])], [submissionId(2)])
    assert.equal(after(newer, replayed(older, 1)).feedback[0]?.title, 'old')
  })

  it('shows the newest of its replayed submissions, in any order of the replays', () => {
    const [older, newer] = [
      replayed(feedback({ sourceId: 'T', title: 'old' }), 0),
      replayed(feedback({ sourceId: 'T', title: 'new' }), 1),
    ]
    assert.equal(after(feedback({}), older, newer).feedback.find(({ title }) => title !== null)?.title, 'new')
    assert.equal(after(feedback({}), newer, older).feedback.find(({ title }) => title !== null)?.title, 'new')
  })
})
