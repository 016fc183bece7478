import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Answer } from '../support/service.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'

/** Each offset that RFC 3339 knows is good, though Postgres takes none of 16 hours or more. */
const INSTANTS = {
  '2026-06-01T12:00:00-23:59': '2026-06-02T11:59:00.000Z',
  '2026-06-01T12:00:00.5+16:00': '2026-05-31T20:00:00.500Z',
  '2026-06-01T12:00:00+15:59': '2026-05-31T20:01:00.000Z',
  '2026-06-01t12:00:00z': '2026-06-01T12:00:00.000Z',
}

describe('a date-time with any offset', () => {
  let service: SharedService
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  const applied = async (path: string, body: object): Promise<Answer> => {
    const answer = await service.submit(path, body)
    assert.equal(await service.settled(answer), 'applied')
    return answer
  }

  for (const [given, instant] of Object.entries(INSTANTS)) {
    it(`is stored as the instant that it is: ${given}`, async () => {
      const times = { $createdAt: given, $updatedAt: given }
      await applied('/contacts/identify', { id: given, properties: times })
      await applied('/accounts/identify', { id: given, properties: { $name: given, $domain: given, ...times } })
      await applied('/feedbacks', { description: given, createdAt: given })
      const message = { id: given, incoming: true, content: 'x', createdAt: given }
      const common = { id: given, source: 's', createdAt: given, updatedAt: given }
      await applied('/conversations', { ...common, contacts: [], messages: [message] })
      const [row] = await service.sql`
        select v.created_at, v.updated_at, m.created_at as sent_at, c.source_created_at, c.source_updated_at,
          a.source_created_at as account_created_at, a.source_updated_at as account_updated_at, f.created_at as given_at
        from conversation as v join message as m on m.conversation_id = v.id
        join contact_external_id as ce on ce.external_id = v.external_id join contact as c on c.id = ce.contact_id
        join account_external_id as ae on ae.external_id = v.external_id join account as a on a.id = ae.account_id
        join feedback as f on f.description = v.external_id
        where v.external_id = ${given}`
      assert.equal(Object.keys(row ?? {}).length, 8)
      for (const [column, value] of Object.entries(row!)) assert.equal((value as Date).toISOString(), instant, column)
    })
  }
})
