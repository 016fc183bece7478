import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { JsonObject } from '../../contract/json.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

describe('the answer to a feedback', () => {
  let service: SharedService
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  it('has what the interface lists, and nothing else', async () => {
    const sent = {
      description: 'The export is slow',
      title: 'Export',
      tags: ['Export'],
      rating: 4,
      sourceId: '17',
      sourceData: { 'view.id': 5, url: 'https://example.com' },
      shouldUnflattenSourceData: true,
      contact: { email: 'ada@example.com' },
      project: { name: 'Apollo' },
      account: { name: 'Acme' },
    }
    const { body, status } = await service.submit('/feedbacks', sent)
    assert.equal(status, 201)
    const { id, customerId, projectId } = body.feedback
    for (const own of [id, customerId, projectId]) assert.match(own, UUID)
    const sourceData = { url: 'https://example.com', view: { id: 5 } }
    const { description, rating, sourceId } = sent
    assert.deepEqual(body, { feedback: { id, description, rating, sourceId, sourceData, customerId, projectId } })
  })

  it('leaves out what has no value', async () => {
    const absent: JsonObject[] = [
      {},
      {
        rating: null,
        sourceId: null,
        sourceData: null,
        contactId: null,
        contact: null,
        project: null,
        projectId: null,
      },
    ]
    for (const more of absent) {
      const { body } = await service.submit('/feedbacks', { description: '', ...more })
      assert.deepEqual(Object.keys(body.feedback), ['id', 'description'])
    }
  })

  it('keeps an empty object and a rating of zero', async () => {
    const { body } = await service.submit('/feedbacks', { description: 'x', rating: 0, sourceData: {} })
    assert.deepEqual([body.feedback.rating, body.feedback.sourceData], [0, {}])
  })

  it('has the id of a submission, which the other operations give as well', async () => {
    const createdAt = '2026-01-01T00:00:00Z'
    const bodies: Record<string, JsonObject> = {
      '/feedbacks': { description: 'x' },
      '/contacts/identify': { id: 'c' },
      '/accounts/identify': { id: 'a' },
      '/conversations': { id: 'v', source: 's', createdAt, contacts: [], messages: [] },
      '/contacts/purge': { id: 'c' },
    }
    for (const [path, body] of Object.entries(bodies)) {
      const answer = await service.post(path, body, { token: service.adminToken })
      assert.match(answer.headers.get('submission-id') ?? '', UUID, path)
      if (path !== '/feedbacks') assert.deepEqual(answer.body, { success: true }, path)
    }
  })
})
