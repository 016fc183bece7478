import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { JsonObject } from '../../contract/json.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const CREATED_AT = '2026-01-01T00:00:00Z'
const COMPLAINT =
  'The invoice export is broken. Every invoice export stops at the last page, and support does not answer.'

const isAboutInvoices = (tags: readonly string[]): boolean => tags.some((tag) => /invoice|export/i.test(tag))

describe('tags', () => {
  let service: SharedService
  let count = 0
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  type Tags = { tags: string[] | null; generated: boolean }
  const tagsOf = async (id: string): Promise<Tags> => {
    const [row] = await service.sql<Tags[]>`
      select tags, tags_generated as generated from feedback where id = ${id}`
    return { ...row! }
  }
  const give = async (body: JsonObject): Promise<string> => {
    const answer = await service.submit('/feedbacks', { description: 'x', ...body })
    return answer.body.feedback.id as string
  }
  const generated = (id: string): Promise<string[]> =>
    until(`feedback ${id} has tags`, async () => (await tagsOf(id)).tags)
  const conversationTags = (id: string, wanted: (tags: string[]) => boolean = () => true): Promise<string[]> =>
    until(`conversation ${id} has its tags`, async () => {
      const [row] = await service.sql<{ tags: string[] | null }[]>`
        select tags from conversation where external_id = ${id}`
      return row?.tags && wanted(row.tags) ? row.tags : undefined
    })
  it('are generated from title and description if none are submitted', async () => {
    for (const tags of [undefined, null]) {
      const id = await give({ description: COMPLAINT, title: 'Billing', ...(tags === null && { tags }) })
      const found = await generated(id)
      assert.ok(found.length > 0)
      assert.ok(isAboutInvoices(found), found.join())
      assert.equal((await tagsOf(id)).generated, true)
    }
  })

  it('that are submitted are kept, even an empty list', async () => {
    const [given, none] = [
      await give({ tags: ['Billing', 'billing'] }),
      await give({ description: COMPLAINT, tags: [] }),
    ]
    await generated(await give({ description: COMPLAINT }))
    assert.deepEqual(await tagsOf(given), { tags: ['Billing', 'billing'], generated: false })
    assert.deepEqual(await tagsOf(none), { tags: [], generated: false })
  })

  it('of a conversation come from its incoming messages', async () => {
    const message = { createdAt: CREATED_AT, contactId: 'c' }
    const id = `conversation-${++count}`
    await service.submit('/conversations', {
      id,
      source: 'Intercom',
      createdAt: CREATED_AT,
      contacts: [{ id: 'c' }],
      messages: [
        { ...message, id: '1', incoming: true, content: COMPLAINT },
        { ...message, id: '2', incoming: false, content: 'Our zebra walks. Each zebra walks. A zebra walks.' },
        { ...message, id: '3', incoming: true, content: 'Kind regards,\nAda' },
        { ...message, id: '4', incoming: true, content: 'The tracking number is wrong.' },
      ],
    })
    const tags = await conversationTags(id)
    assert.ok(isAboutInvoices(tags), tags.join())
    assert.ok(tags.includes('tracking number'), 'the text after a signature is another message')
    assert.ok(!tags.some((tag) => /zebra/i.test(tag)), tags.join())
  })
})
