import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { problemPaths, problemsOf } from '../support/problems.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { LEAST } from './body-with.ts'

const MAX_PROBLEMS = 100

describe('validation', () => {
  let service: SharedService
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  it('names all problems of a feedback at once', async () => {
    const answer = await service.post('/feedbacks', {
      rating: 'five',
      tags: ['fine', 5, null],
      contact: { email: 5, name: [] },
      account: [],
      accountId: '',
      sourceData: [],
    })
    assert.deepEqual(problemPaths(answer), [
      'account',
      'accountId',
      'contact.email',
      'contact.name',
      'description',
      'rating',
      'sourceData',
      'tags.1',
      'tags.2',
    ])
  })

  it('names all problems of a conversation at once, with the place of each element', async () => {
    const answer = await service.post('/conversations', {
      id: '',
      createdAt: 'yesterday',
      contacts: [
        { id: 'fine' },
        { properties: { $contractValue: '5' }, account: { id: 1, properties: { $name: null } } },
      ],
      messages: [{ id: 'm', incoming: 1 }, 'text'],
    })
    assert.deepEqual(problemPaths(answer), [
      'contacts.1.account.id',
      'contacts.1.account.properties.$domain',
      'contacts.1.account.properties.$name',
      'contacts.1.id',
      'contacts.1.properties.$contractValue',
      'createdAt',
      'id',
      'messages.0.content',
      'messages.0.createdAt',
      'messages.0.incoming',
      'messages.1',
      'source',
    ])
  })

  it('refuses a placeholder as an external id, and says so', async () => {
    const properties = { $name: 'Acme', $domain: 'acme.example' }
    const conversation = { source: 'chat', createdAt: '2026-01-01T00:00:00Z', messages: [] }
    const refused: [path: string, body: object, problem: string][] = [
      ['/contacts/identify', { id: 'undefined' }, 'id'],
      ['/contacts/identify', { id: 'c', account: { id: 'null', properties } }, 'account.id'],
      ['/accounts/identify', { id: ' N/A ', properties }, 'id'],
      ['/contacts/purge', { id: 'Anonymous' }, 'id'],
      ['/feedbacks', { description: 'x', isExternalContactId: true, contactId: '0' }, 'contactId'],
      ['/feedbacks', { description: 'x', isExternalContactId: true, contact: { id: '[object Object]' } }, 'contact.id'],
      ['/feedbacks', { description: 'x', isExternalAccountId: true, accountId: '-' }, 'accountId'],
      ['/feedbacks', { description: 'x', isExternalAccountId: true, account: { id: 'none' } }, 'account.id'],
      ['/conversations', { ...conversation, id: 'c', contacts: [{ id: 'guest' }] }, 'contacts.0.id'],
    ]
    for (const [path, body, problem] of refused) {
      const answer = await service.post(path, body, { token: service.adminToken })
      assert.deepEqual(problemPaths(answer), [problem], path)
      assert.match(problemsOf(answer)[0]!.message, /placeholder/)
    }
    assert.equal((await service.post('/feedbacks', { description: 'x', contactId: 'null' })).status, 201)
  })

  it('names 100 problems at most', async () => {
    const answer = await service.post('/feedbacks', { description: 'x', tags: Array.from({ length: 5_000 }, () => 5) })
    assert.equal(problemsOf(answer).length, MAX_PROBLEMS)
  })

  it('ignores what it does not know, unless it is to be strict', async () => {
    const body = { description: 'x', Rating: 5, contact: { mail: 'a@example.com' } }
    assert.equal((await service.post('/feedbacks', body)).status, 201)
    const headers = { Prefer: 'handling=strict, wait=30' }
    const refused = await service.post('/feedbacks', body, { headers })
    assert.deepEqual(problemPaths(refused), ['Rating', 'contact.mail'])
    const accepted = await service.post('/feedbacks', { description: 'x', sourceData: { any: 1 } }, { headers })
    assert.equal(accepted.status, 201)
    assert.equal(accepted.headers.get('preference-applied'), 'wait, handling=strict')
  })

  it('bounds tags and what is kept of free objects, names the path and never quotes', async () => {
    const secret = 'sEcReT'
    const feedback = await service.post('/feedbacks', {
      description: 'x',
      tags: ['fine', secret.repeat(50)],
      sourceData: { list: [Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`k${at}`, secret]))] },
      contact: { email: 'a@example.com', sourceData: { note: secret.repeat(3_000) } },
    })
    assert.deepEqual(problemPaths(feedback), ['contact.sourceData.note', 'sourceData.list.0', 'tags.1'])
    const half = secret.repeat(1_500)
    const identified = await service.post('/contacts/identify', {
      id: 'x',
      shouldUnflattenProperties: true,
      properties: { 'notes.first': half, 'notes.second': half },
    })
    assert.deepEqual(problemPaths(identified), ['properties.notes'])
    for (const { text } of [feedback, identified]) assert.ok(!text.includes(secret))
  })

  it('says what is missing, and what was expected', async () => {
    const [missing] = problemsOf(await service.post('/feedbacks', {}))
    assert.match(missing!.message, /required/)
    const [wrong] = problemsOf(await service.post('/feedbacks', { description: 5 }))
    assert.match(wrong!.message, /string/)
  })

  it('ignores members that it does not know, in nested objects as well', async () => {
    const feedback = await service.post('/feedbacks', {
      description: 'x',
      unknown: [1],
      contact: { email: 'a@example.com', $name: 5 },
    })
    assert.equal(feedback.status, 201)
    const identify = await service.post('/contacts/identify', { id: 'x', email: 5, account: { id: 'y', name: {} } })
    assert.equal(identify.status, 201)
  })

  it('wants an id or an email in a purge', async () => {
    const incomplete = [{}, { source: 'API' }, { id: null, email: null }, { email: '' }, { id: null, email: ' \t' }]
    for (const body of incomplete) {
      problemsOf(await service.post('/contacts/purge', body, { token: service.adminToken }))
    }
  })

  describe('of times', () => {
    const times: Readonly<Record<string, string>> = {
      '2026-01-31T09:30:00Z': '2026-01-31T09:30:00.000Z',
      '2026-01-31T09:30:00.5+05:30': '2026-01-31T04:00:00.500Z',
      '2024-02-29T23:59:59-12:00': '2024-03-01T11:59:59.000Z',
      '2026-01-31t09:30:00z': '2026-01-31T09:30:00.000Z',
      '0001-01-01T00:00:00Z': '0001-01-01T00:00:00.000Z',
      '9999-12-31T23:59:59Z': '9999-12-31T23:59:59.000Z',
    }
    for (const [given, kept] of Object.entries(times)) {
      it(`${given} is kept as UTC`, async () => {
        await service.submit('/conversations', { ...LEAST['/conversations'](given), createdAt: given })
        const [row] = await service.sql<{ at: string }[]>`
          select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at
          from conversation where external_id = ${given}`
        assert.equal(row?.at, kept)
      })
    }

    const impossible = [
      '2026-02-29T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-00-10T00:00:00Z',
      '2026-01-31T24:00:00Z',
      '2026-01-31T09:60:00Z',
      '2026-01-31T09:30:00',
      '2026-01-31T09:30:00+24:00',
      '2026-01-31T09:30Z',
      '2026-01-31 09:30:00Z',
      '2026-1-31T09:30:00Z',
      '0000-12-31T23:59:59Z',
      '0001-01-01T00:00:00+01:00',
      '9999-12-31T23:59:59-01:00',
      '+12026-01-31T09:30:00Z',
      '1767225600',
    ]
    for (const given of impossible) {
      it(`${given} is refused`, async () => {
        const answer = await service.post('/conversations', { ...LEAST['/conversations']('x'), createdAt: given })
        assert.deepEqual(problemPaths(answer), ['createdAt'])
      })
    }
  })

  describe('of numbers', () => {
    const withNumber = (literal: string): string => `{"description":"x","sourceData":{"list":[1,{"n":${literal}}]}}`

    for (const literal of ['1e999', '-1e400', '9007199254740993', '12345678901234567890', '1e1000']) {
      it(`${literal}, which would be changed, is refused`, async () => {
        const answer = await service.post('/feedbacks', withNumber(literal))
        assert.deepEqual(problemPaths(answer), ['sourceData.list.1.n'])
        assert.ok(!answer.text.includes(literal))
      })
    }

    for (const literal of ['0', '-1', '0.1', '9007199254740991', '-9007199254740991', '1e21', '1.5e-7', '5e-324']) {
      it(`${literal} is kept`, async () => {
        const answer = await service.submit('/feedbacks', withNumber(literal))
        const [row] = await service.sql<{ same: boolean }[]>`
          select (source_data #>> '{list,1,n}')::numeric = ${literal}::text::numeric as same
          from feedback where id = ${answer.body.feedback.id}`
        assert.equal(row?.same, true)
      })
    }

    it('a rating may be a fraction and negative, and is never infinite', async () => {
      const answer = await service.submit('/feedbacks', { description: 'x', rating: -4.25 })
      assert.equal(answer.body.feedback.rating, -4.25)
      assert.deepEqual(problemPaths(await service.post('/feedbacks', '{"description":"x","rating":1e999}')), ['rating'])
    })
  })
})
