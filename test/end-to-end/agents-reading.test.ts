import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Agent, agentAt, quotesIn } from '../support/agent.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'

describe('agents that read', () => {
  let service: SharedService
  let agent: Agent
  before(async () => {
    service = await sharedService()
    agent = await agentAt(service.urls[0]!, service.readToken)
  })
  after(async () => {
    await agent?.client.close()
    await service?.stop()
  })

  it('see the text of HTML, and the record over HTTP stays as it was sent', async () => {
    const html = '<div>The <b>export</b> &amp; import&nbsp;fail</div><p>Write to <i>ann</i>&#64;mail.example</p>'
    const body = { description: html, title: 'Caf&eacute;', source: 'Html', contact: { email: 'a@example.org' } }
    const { id } = (await service.submit('/feedbacks', body)).body.feedback
    const createdAt = '2026-01-01T00:00:00Z'
    const messages = [{ id: 'm', incoming: true, content: '<p>First</p><p>second &lt;b&gt;</p>', createdAt }]
    await service.submit('/conversations', { id: 'c', source: 'Html', createdAt, contacts: [], messages })
    const [quote] = quotesIn(await agent.call('list_feedback', { filters: { source: 'Html' } }))
    const text = 'The export & import fail\nWrite to [masked]'
    assert.deepEqual(quote, { id, title: 'Café', text })
    const [conversation] = (await agent.call('list_feedback', { of: 'conversations' })).conversations
    const [message] = (await agent.call('get_conversation', { id: conversation.id })).messages
    assert.equal(message.quote.text, 'First\nsecond <b>')
    const { feedback } = (await service.get(`/api/v1/feedbacks/${id}`, { token: service.readToken })).body
    assert.equal(feedback.description, html)
  })

  it('name a day as the end of a span, which includes it', async () => {
    const own = { description: 'x', source: 'Days' }
    for (const createdAt of ['2026-01-30T00:00:00Z', '2026-01-31T23:59:59.999999Z', '2026-02-01T00:00:00Z'])
      await service.submit('/feedbacks', { ...own, createdAt })
    const counted = async (span: object): Promise<unknown> =>
      (await agent.call('count_feedback', { by: 'source', filters: { source: 'Days', ...span } })).feedback
    assert.equal(await counted({ createdTo: '2026-01-31' }), 2)
    assert.equal(await counted({ createdFrom: '2026-01-31', createdTo: '2026-01-31' }), 1)
    assert.equal(await counted({ createdTo: '2026-01-31T00:00:00Z' }), 1)
    assert.equal(await counted({ createdFrom: '2026-02-01', createdTo: '9999-12-31' }), 1)
    const { before: former, after: later } = await agent.call('compare_periods', {
      by: 'tag',
      later: { from: '2026-01-31', to: '2026-01-31' },
      filters: { source: 'Days' },
    })
    assert.deepEqual([former.feedback, later.feedback, later.to], [1, 1, '2026-02-01T00:00:00Z'])
  })
})
