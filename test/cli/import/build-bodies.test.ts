import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { buildBodies } from '../../../cli/import/build-bodies.ts'
import type { Kind } from '../../../cli/import/kinds.ts'
import { LAYOUTS } from '../../../cli/import/layouts.ts'
import { createMapping, describeMapping, type MappingOptions } from '../../../cli/import/mapping.ts'
import type { Row } from '../../../cli/import/read-rows.ts'

const mappingOf = (kind: Kind, columns: readonly string[], options: Partial<MappingOptions> = {}) =>
  createMapping({
    kind,
    layout: undefined,
    columns,
    map: [],
    mapValue: [],
    set: [],
    keepRest: false,
    utc: false,
    ...options,
  })

/** What rows of these cells are submitted as. */
const bodiesOf = async (mapping: ReturnType<typeof mappingOf>, cells: readonly Row['cells'][]): Promise<unknown[]> => {
  const rows = async function* () {
    for (const [at, one] of cells.entries()) yield { line: at + 2, cells: one }
  }
  const found: unknown[] = []
  for await (const item of buildBodies(rows(), mapping)) {
    found.push('body' in item ? { line: item.line, body: JSON.parse(item.body) as unknown } : item)
  }
  return found
}

describe('the bodies that rows make', () => {
  it('have the types of their fields, and leave empty cells out', async () => {
    const columns = ['description', 'Stars', 'tags', 'isTranscript', 'Person', 'x']
    const map = ['Stars=rating', 'Person=contact.email', 'Person=contact.name']
    const mapping = mappingOf('feedback', columns, { map, set: ['source=survey'] })
    const cells = { description: 'Good', Stars: '4', tags: 'a, b,', isTranscript: 'No', Person: 'a@b.example', x: 'y' }
    assert.deepEqual(
      await bodiesOf(mapping, [cells, { ...cells, Stars: 'four', tags: '', isTranscript: '?', Person: '' }]),
      [
        {
          line: 2,
          body: {
            source: 'survey',
            description: 'Good',
            rating: 4,
            tags: ['a', 'b'],
            isTranscript: false,
            contact: { email: 'a@b.example', name: 'a@b.example' },
          },
        },
        // What is no number or flag is left to the service, which says what it expected.
        { line: 3, body: { source: 'survey', description: 'Good', rating: 'four', isTranscript: '?' } },
      ],
    )
  })

  it('are found by columns of any spelling, and cells become what they are taken for', async () => {
    const columns = ['Description', 'RATING', 'Source ID', 'contact_email', 'Created at', 'Tags', 'Labels']
    const mapping = mappingOf('feedback', columns, {
      map: ['labels=tags:spaces'],
      mapValue: ['rating Good=5'],
      utc: true,
    })
    const cells = {
      RATING: ' Good ',
      'Source ID': '7',
      contact_email: 'a@b.example',
      'Created at': '2026-01-31',
      Labels: 'a b',
    }
    assert.deepEqual(await bodiesOf(mapping, [cells]), [
      {
        line: 2,
        body: {
          description: '',
          rating: 5,
          sourceId: '7',
          contact: { email: 'a@b.example' },
          createdAt: '2026-01-31T00:00:00Z',
          tags: ['a', 'b'],
        },
      },
    ])
    assert.ok(describeMapping(mapping).some((line) => line.endsWith('rating (Good is 5)')))
    const bars = await bodiesOf(mappingOf('feedback', ['description', 'tags']), [
      { description: 'x', tags: 'dark mode| y' },
    ])
    assert.deepEqual(bars, [{ line: 2, body: { description: 'x', tags: ['dark mode', 'y'] } }])
  })

  it('are of the very column that is named, where others differ by case alone', async () => {
    const mapping = mappingOf('feedback', ['text', 'Text'], { map: ['Text=description', 'text='] })
    assert.deepEqual(await bodiesOf(mapping, [{ text: 'a', Text: 'b' }]), [{ line: 2, body: { description: 'b' } }])
  })

  it('take an object for all properties, beside those that have a name', async () => {
    const map = ['userId=id', 'traits=properties', 'mail=properties.$email']
    const mapping = mappingOf('contacts', ['userId', 'traits', 'mail'], { map })
    const properties = { plan: 'pro', $email: 'old' }
    assert.deepEqual(await bodiesOf(mapping, [{ userId: 'u', traits: properties, mail: 'new' }]), [
      { line: 2, body: { id: 'u', properties: { plan: 'pro', $email: 'new' } } },
    ])
    assert.deepEqual(await bodiesOf(mapping, [{ userId: 'u', traits: '{"plan":"pro"}' }]), [
      { line: 2, body: { id: 'u', properties: { plan: 'pro' } } },
    ])
  })

  it('say what of a row goes nowhere', async () => {
    const mapping = mappingOf('conversations', ['id', 'message.id', 'contact.properties.$name'])
    const rows = async function* () {
      yield { line: 2, cells: { id: 'c', 'message.id': 'm', 'contact.properties.$name': 'Ada' } }
    }
    for await (const item of buildBodies(rows(), mapping)) {
      const reasons = ['what is known of the contact, since it has no contact.id: properties']
      assert.deepEqual('dropped' in item && item.dropped, [{ line: 2, reasons }])
    }
  })

  it('keep the other columns only when asked, whatever they are called', async () => {
    const columns = ['description', '__proto__', 'page.url']
    const cells = Object.fromEntries([
      ['description', 'Good'],
      ['__proto__', 'p'],
      ['page.url', '/x'],
    ])
    const kept = await bodiesOf(mappingOf('feedback', columns, { keepRest: true }), [cells])
    const sourceData = Object.fromEntries([
      ['__proto__', 'p'],
      ['page.url', '/x'],
    ])
    assert.deepEqual(kept, [{ line: 2, body: { description: 'Good', sourceData } }])
    assert.deepEqual(await bodiesOf(mappingOf('feedback', columns), [cells]), [
      { line: 2, body: { description: 'Good' } },
    ])
    assert.equal(({} as { p?: unknown }).p, undefined)
  })

  it('of messages that follow one another in a conversation is one conversation', async () => {
    const layout = LAYOUTS.find(({ name }) => name === 'intercom-messages')
    const columns = [...(layout?.columns ?? []), 'message_created_at', 'message_author_id', 'message_author_email']
    const message = (id: string, type: string, author: string) => ({
      conversation_id: 'c1',
      conversation_created_at: '2017-11-14 21:45:08',
      message_id: id,
      message_body: id === 'm2' ? '' : 'Hello',
      message_author_type: type,
      message_created_at: '2017-11-14 21:45:08',
      message_author_id: author,
      message_author_email: `${author}@b.example`,
    })
    const rows = [message('m1', 'lead', 'u1'), message('m2', 'admin', 'a1'), message('m3', 'lead', 'u1')]
    const found = await bodiesOf(mappingOf('conversations', columns, { layout }), [
      ...rows,
      { ...message('m4', 'user', 'u2'), conversation_id: 'c2' },
    ])
    const createdAt = '2017-11-14T21:45:08Z'
    assert.deepEqual(found[0], {
      line: 2,
      body: {
        id: 'c1',
        source: 'intercom',
        createdAt,
        contacts: [{ id: 'u1', properties: { $email: 'u1@b.example' } }],
        messages: [
          { id: 'm1', content: 'Hello', incoming: true, contactId: 'u1', createdAt },
          { id: 'm2', content: '', incoming: false, contactId: 'a1', createdAt },
          { id: 'm3', content: 'Hello', incoming: true, contactId: 'u1', createdAt },
        ],
      },
    })
    assert.equal((found[1] as { line: number }).line, 5)
    assert.equal(found.length, 2)
  })

  it('take a known layout of users', async () => {
    const layout = LAYOUTS.find(({ name }) => name === 'zendesk-users')
    const mapping = mappingOf('contacts', ['name', 'email', 'external_id', 'role'], {
      layout,
      map: ['role=properties.role'],
    })
    assert.deepEqual(
      await bodiesOf(mapping, [{ name: 'Ada', email: 'ada@b.example', external_id: '7', role: 'end-user' }]),
      [
        {
          line: 2,
          body: { source: 'zendesk', id: '7', properties: { $name: 'Ada', $email: 'ada@b.example', role: 'end-user' } },
        },
      ],
    )
    assert.match(
      describeMapping(mapping).join('\n'),
      /external_id {2}→ {2}id\n[\s\S]*\(always\) +→ {2}source = zendesk/,
    )
  })

  it('cannot have fields or columns that do not exist', () => {
    const columns = ['description']
    assert.throws(() => mappingOf('feedback', columns, { map: ['x=title'] }), /a column that the file does not have: x/)
    assert.throws(() => mappingOf('feedback', columns, { map: ['description=text'] }), /no field text in feedback/)
    assert.throws(() => mappingOf('feedback', columns, { map: ['description'] }), /has not the form/)
    assert.throws(() => mappingOf('feedback', columns, { set: ['constructor=1'] }), /no field constructor/)
  })
})
