import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { idOfEpoch } from '../../contract/identity/keys.ts'
import { clerksAfter } from './model.ts'
import {
  accepted,
  after,
  correcting,
  deleting,
  feedback,
  hashKey,
  idOf,
  replayed,
  submissionId,
  workspaceId,
} from './submissions.ts'

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
        is_hidden: false,
        corrections: null,
        kind: null,
        theme_id: null,
        theme_by: null,
        uncorrected: null,
        correction_numbers: null,
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

  it('keeps what a person has set when its source sends it again, and follows the source otherwise', () => {
    const T = idOf('feedback', 'API', 'T')
    const sent = feedback({ sourceId: 'T', tags: ['ui'], rating: 4 })
    const corrected = correcting(T, { tags: [' speed', 'speed'], rating: 1, isHidden: true })
    const again = feedback({ sourceId: 'T', title: 'new', tags: ['login'], rating: 5 })
    const [row] = after(sent, corrected, again).feedback
    assert.deepEqual([row?.title, row?.tags, row?.rating, row?.is_hidden], ['new', ['speed'], 1, true])
    const found = { kind: null, themeId: null, themeBy: null }
    assert.deepEqual(row?.uncorrected, { tags: ['login'], rating: 5, ...found })
    const tables = after(sent, corrected, again, correcting(T, { tags: null, rating: null, isHidden: false }))
    const { correction_numbers: _, ...undone } = tables.feedback[0]!
    const { correction_numbers: __, ...plain } = after(sent, deleting(idOf('feedback', 'API', 'other')), again)
      .feedback[0]!
    assert.deepEqual({ ...undone, updated_number: 0 }, { ...plain, updated_number: 0 })
    assert.deepEqual(
      tables.feedback_category.map(({ title }) => title),
      ['login'],
    )
  })

  it('has, of several replayed corrections, each member as the newest has set it, in any order of the replays', () => {
    const T = idOf('feedback', 'API', 'T')
    const first = replayed(correcting(T, { rating: 1, tags: ['a'] }), 1)
    const second = replayed(correcting(T, { rating: 2 }), 2)
    for (const replays of [
      [first, second],
      [second, first],
    ]) {
      const [row] = after(feedback({ sourceId: 'T' }), ...replays).feedback
      assert.deepEqual([row?.rating, row?.tags], [2, ['a']])
    }
  })

  it('gets another id after a deletion, which takes a contact with a name alone as well', () => {
    const T = idOf('feedback', 'API', 'T')
    const sent = feedback({ sourceId: 'T', contact: { name: 'Ann' } })
    const gone = after(sent, correcting(T, { rating: 1 }), deleting(T))
    assert.deepEqual([gone.feedback, gone.contact], [[], []])
    const tables = after(sent, deleting(T), sent, correcting(T, { rating: 1 }), sent)
    assert.deepEqual(
      tables.feedback.map(({ id, rating }) => [id, rating]),
      [[idOfEpoch(T, 1), null]],
    )
    assert.deepEqual(
      tables.contact.map(({ id }) => id),
      [idOf('contact_record', idOfEpoch(T, 1))],
    )
  })
})
