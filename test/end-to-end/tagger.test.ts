import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { JsonObject } from '../../contract/json.ts'
import { TAGGER_VERSION } from '../../contract/jobs.ts'
import { MAX_TERMS_OF_TEXTS, readTexts, storeTags } from '../../db/tags/store-tags.ts'
import { runCommand } from '../support/command.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'
import { NO_MEANING } from '../../worker/tagging/no-meaning.ts'
import { NOTHING_FOUND } from '../support/no-meaning.ts'

const CREATED_AT = '2026-01-01T00:00:00Z'
const COMPLAINT =
  'The invoice export is broken. Every invoice export stops at the last page, and support does not answer.'
const NO_SHARE = { judged: false, given: 0, terms: [], tags: [] }

describe('the tagger', () => {
  let service: SharedService
  beforeEach(async () => {
    service = await sharedService()
  })
  afterEach(() => service.stop())

  const give = async (body: JsonObject): Promise<string> =>
    (await service.submit('/feedbacks', { description: COMPLAINT, ...body })).body.feedback.id as string
  const converse = async (
    messages: readonly { id: string; contactId: string; content: string; incoming?: boolean }[],
  ): Promise<void> => {
    await service.submit('/conversations', {
      id: 'conversation',
      source: 'Intercom',
      createdAt: CREATED_AT,
      contacts: [...new Set(messages.map(({ contactId }) => contactId))].map((id) => ({ id })),
      messages: messages.map((message) => ({ incoming: true, createdAt: CREATED_AT, ...message })),
    })
  }
  /** Whether a text waits for the tagger. */
  const hasUnread = async (): Promise<boolean> => {
    const rows = await service.sql`
      select from feedback as f where tags is null or (tags <> '{}' and not exists (
        select from tag_share as s
        where s.workspace_id = f.workspace_id and s.record_id = f.id and s.text_version = f.number::text))
      union all
      select from conversation as c where tags is null or not exists (
        select from tag_share as s where s.workspace_id = c.workspace_id and s.record_id = c.id
          and s.text_version = (conversation_text(c.workspace_id, c.id)).version)`
    return rows.length > 0
  }
  const untilRead = (): Promise<true> => until('all texts are read', async () => !(await hasUnread()))
  const tagsOf = async (id: string): Promise<string[]> => {
    await untilRead()
    const [row] = await service.sql<{ tags: string[] }[]>`select tags from feedback where id = ${id}`
    return row?.tags ?? []
  }
  /** Reads texts like a job that tags them again. */
  const readAgain = (ids: { feedbackIds?: string[]; conversationIds?: string[] }) => {
    const all = { feedbackIds: [], conversationIds: [], taggerVersion: 0, isRetag: true }
    return readTexts(service.all, { workspaceId: service.workspaceId, ...all, ...ids })
  }
  /** Stores the tag `stale` of an older tagger. Returns the number of texts that got it. */
  const storeStale = async (texts: Awaited<ReturnType<typeof readTexts>>) => {
    const found = NOTHING_FOUND
    const tagged = texts.map((text) => ({ ...text, tags: ['stale'], share: NO_SHARE, meaning: NO_MEANING }))
    return storeTags(service.all, service.workspaceId, {
      taggerVersion: 1,
      tagged,
      found,
      maxTerms: MAX_TERMS_OF_TEXTS,
    })
  }

  it('generates the tags of a text if none are submitted, and keeps submitted tags', async () => {
    const generated = [await give({ title: 'Billing' }), await give({ title: 'Billing', tags: null })]
    for (const id of generated) assert.match((await tagsOf(id)).join(), /invoice|export/i)
    const [given, none] = [await give({ tags: ['Billing', 'billing'] }), await give({ tags: [] })]
    assert.deepEqual([await tagsOf(given), await tagsOf(none)], [['Billing', 'billing'], []])
    const rows = await service.sql<{ id: string }[]>`select id from feedback where tags_generated`
    assert.deepEqual(new Set(rows.map(({ id }) => id)), new Set(generated))
  })

  it('gives a conversation tags from its incoming messages', async () => {
    await converse([
      { id: '1', contactId: 'c', content: COMPLAINT },
      {
        id: '2',
        contactId: 'c',
        content: 'Our zebra walks. Each zebra walks. A zebra walks.',
        incoming: false,
      },
      { id: '3', contactId: 'c', content: 'Kind regards,\nAda' },
      { id: '4', contactId: 'c', content: 'The tracking number is wrong.' },
    ])
    await untilRead()
    const [row] = await service.sql<{ tags: string[] }[]>`select tags from conversation`
    assert.match(row!.tags.join(), /invoice|export/i)
    assert.ok(row!.tags.includes('tracking number'), 'a signature ends its own message only')
    assert.doesNotMatch(row!.tags.join(), /zebra/i)
  })

  it('gives a text the tags that people gave to similar texts, in lower case', async () => {
    for (let count = 0; count < 6; count++) {
      await give({ description: 'CSV export is missing', tags: ['CSV exports'] })
    }
    await untilRead()
    assert.deepEqual(await tagsOf(await give({ description: 'exporting to CSV is missing' })), ['csv exports'])
  })

  it('learns nothing from a conversation that has changed since the tagger read it', async () => {
    await converse([{ id: '1', contactId: 'a', content: COMPLAINT }])
    await untilRead()
    const [conversation] = await service.sql<{ id: string }[]>`select id from conversation`
    const texts = await readAgain({ conversationIds: [conversation!.id] })
    await converse([{ id: '1', contactId: 'a', content: 'The button is loose.' }])
    await untilRead()
    assert.equal(await storeStale(texts), 0)
  })

  describe('npm run retag', () => {
    const retag = (...words: string[]) =>
      runCommand(service, 'cli/retag/retag-command.ts', '--workspace', service.workspace, ...words)
    /** Replaces the tags of these feedback by a tag of an older tagger. */
    const makeStale = async (ids: string[]): Promise<void> => {
      await untilRead()
      const texts = await readAgain({ feedbackIds: ids })
      assert.equal(await storeStale(texts), ids.length)
    }

    it('replaces generated tags of an older version, and no tags of people', async () => {
      const old = [await give({ source: 'Zendesk' }), await give({})]
      const current = await give({})
      const people = await give({ tags: ['stale', 'Billing'] })
      const wanted = await tagsOf(current)
      await makeStale(old)
      const { code, stdout, stderr } = await retag()
      assert.equal(code, 0, stderr)
      assert.match(stdout, /^Tagging again: 2\/2 {2}\S+\nchecked: 2 feedback, 0 conversations\n/)
      assert.match(stdout, new RegExp(`^tagged by version ${TAGGER_VERSION}: 2$`, 'm'))
      assert.deepEqual(await Promise.all(old.map(tagsOf)), [wanted, wanted])
      assert.deepEqual(await tagsOf(people), ['stale', 'Billing'])
      assert.deepEqual([...(await service.sql`select id from feedback where tagger_version is null`)], [])
    })

    it('has options for a workspace, a source, times, and all versions', async () => {
      await give({ source: 'Zendesk' })
      await give({})
      await converse([{ id: '1', contactId: 'a', content: COMPLAINT }])
      await untilRead()
      const lookedAt = async (...words: string[]): Promise<string | undefined> =>
        /^checked: (.*)$/m.exec((await retag(...words)).stdout)?.[1]
      assert.equal(await lookedAt(), '0 feedback, 0 conversations')
      assert.equal(await lookedAt('--all-versions'), '2 feedback, 1 conversations')
      assert.equal(await lookedAt('--all-versions', '--source', 'Zendesk'), '1 feedback, 0 conversations')
      assert.equal(await lookedAt('--all-versions', '--since', '2100-01-01'), '0 feedback, 0 conversations')
      assert.equal(await lookedAt('--all-versions', '--until', '2100-01-01'), '2 feedback, 1 conversations')
    })

    it('refuses unknown options and values', async () => {
      for (const words of ['--workspace stranger', '--since yesterday', '--until 2026-02-31T', '--nonsense', 'all'])
        assert.equal((await retag(...words.split(' '))).code, 1, words)
    })
  })
})
