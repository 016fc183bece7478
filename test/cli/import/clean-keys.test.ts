import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Case, imported, itImports } from './imported.ts'

const NOTHING = 'is a placeholder, such as N/A, and is left out'
const NO_ADDRESS = 'is no address: it is kept, and makes no two records those of one contact'
const WRAPPED = `has the quotes of a spreadsheet, such as ="007" or '007, which are left out`
const WITHOUT_SOURCE =
  'an id without a source can mean a record of another system with the same id: add --set source=NAME'
const ROUNDED = 'an id looks like a number that a spreadsheet rounded, such as 1.18E+11: export the column as text'
const createdAt = '2026-01-01T10:00:00Z'
const MESSAGES =
  'id,source,createdAt,title,rating,contact.id,contact.properties.$name,message.id,message.incoming,message.content,message.createdAt'
const message = (id: string, titleAndRating: string, contactAndMessageId: string): string =>
  `${id},chat,${createdAt},${titleAndRating},${contactAndMessageId},true,Words,${createdAt}\n`
const incomingFrom = (id: string, contactId: string) => ({ id, contactId, incoming: true, content: 'Words', createdAt })

const FILES: readonly Case[] = [
  [
    'keep a text whose ids, emails and names are placeholders, and say so',
    'description,sourceId,contact.email,contact.name,account.name,account.sourceData.plan\na,\\N,(null),#N/A,-,\nb,7,{{ticket.email}},Bo,Acme,pro\nc,8,Kate <N/A>,,N/A,pro\n',
    {
      bodies: [
        { description: 'a' },
        {
          description: 'b',
          sourceId: '7',
          contact: { name: 'Bo' },
          account: { name: 'Acme', sourceData: { plan: 'pro' } },
        },
        { description: 'c', sourceId: '8' },
      ],
      refused: [],
      doubts: [
        ...['sourceId', 'contact.email', 'contact.name', 'account.name'].map((field) => `line 2: ${field} ${NOTHING}`),
        `line 3: contact.email ${NOTHING}`,
        `line 4: contact.email ${NOTHING}`,
        `line 4: account.name ${NOTHING}`,
        'line 4: account is left out, with its sourceData: it needs one of id, domain, name',
        `lines 3–4: ${WITHOUT_SOURCE}`,
      ],
    },
    { map: ['account.sourceData.plan=account.sourceData.plan'] },
  ],
  [
    'of JSON keep a text beside placeholders, too; a constant takes their place, and a misspelt name is refused',
    '{"description":"a","contact":{"email":"N/A"},"account":{"name":"none"}}\n{"description":"b","contact":{"email":"","sourceData":{"a":1}}}\n{"description":"c","contact":{"mail":"x"}}\n',
    {
      bodies: [
        { description: 'a', account: { name: 'Acme' } },
        { description: 'b', account: { name: 'Acme' } },
        { description: 'c', account: { name: 'Acme' }, contact: { mail: 'x' } },
      ],
      refused: ['line 3: contact.mail is not a known member, and handling=strict refuses unknown ones'],
    },
    { name: 'x.ndjson', set: ['account.name=Acme'] },
  ],
  [
    'keep an email that is no address, and say that it is no key',
    'description,contact.email\na,keine\nb,null@null\nc,kate@x.example\n',
    {
      bodies: [
        { description: 'a', contact: { email: 'keine' } },
        { description: 'b', contact: { email: 'null@null' } },
        { description: 'c', contact: { email: 'kate@x.example' } },
      ],
      doubts: ['line 2', 'line 3'].map((line) => `${line}: contact.email ${NO_ADDRESS}`),
    },
  ],
  [
    'have ids and emails without the quotes of a spreadsheet; formulas are doubts',
    `sourceId,description,contact.email,source\n"'@18",a,'kate@x.example',s\n"'=""07""",b,"""bo@x.example""",s\n"=A1&""x""",c,,s\n`,
    {
      bodies: [
        { source: 's', sourceId: '@18', description: 'a', contact: { email: 'kate@x.example' } },
        { source: 's', sourceId: '07', description: 'b', contact: { email: 'bo@x.example' } },
        { source: 's', sourceId: '=A1&"x"', description: 'c' },
      ],
      doubts: [
        ...['line 2', 'line 3'].flatMap((line) =>
          ['sourceId', 'contact.email'].map((field) => `${line}: ${field} ${WRAPPED}`),
        ),
        'line 4: sourceId begins with =: check whether the file has formulas for values',
      ],
    },
  ],
  [
    'are refused for a rounded id in the quotes of a spreadsheet',
    `sourceId,description\n'1.18E+11,a\n"=""1.18E+11""",b\n`,
    { refused: [2, 3].map((line) => `line ${line}: ${ROUNDED}`) },
  ],
  [
    'of contacts keep a contact whose email or account is a placeholder; a placeholder as id is refused',
    'id,email,name,account.id\n1,\\N,Bo,(none)\n#N/A,bo@x.example,Bo,\n',
    {
      bodies: [{ id: '1', properties: { $name: 'Bo' } }, { properties: { $email: 'bo@x.example', $name: 'Bo' } }],
      refused: ['line 3: id is required'],
    },
    { kind: 'contacts' },
  ],
  [
    'of a conversation keep a message whose author is a placeholder, and the number 0 as an id',
    `${MESSAGES}\n${message('0', ',', 'null,Ada,0')}${message('0', ',', 'u1,N/A,1')}`,
    {
      bodies: [
        {
          id: '0',
          source: 'chat',
          createdAt,
          contacts: [{ id: 'u1' }],
          messages: [{ id: '0', incoming: true, content: 'Words', createdAt }, incomingFrom('1', 'u1')],
        },
      ],
      refused: [],
    },
    { kind: 'conversations' },
  ],
  [
    'of conversations in JSON leave out a contact whose id is a placeholder',
    `{"id":"k","source":"chat","createdAt":"${createdAt}","contacts":[{"id":"{{user.id}}"},{"id":"u1"}],"messages":[]}\n`,
    {
      bodies: [{ id: 'k', source: 'chat', createdAt, contacts: [{ id: 'u1' }], messages: [] }],
      doubts: ['line 1: the id of one of the contacts is a placeholder, such as N/A, and this contact is left out'],
    },
    { kind: 'conversations', name: 'x.ndjson' },
  ],
  [
    'of JSON have times from numbers, mapped or not',
    '{"description":"a","createdAt":1767225600}\n{"description":"b","last":{"seconds":"1767225600"}}\n',
    {
      bodies: [
        { description: 'a', createdAt: '2026-01-01T00:00:00Z' },
        { description: 'b', createdAt: '2026-01-01T00:00:00Z' },
      ],
      refused: [],
    },
    { name: 'x.ndjson', map: ['last.seconds=createdAt', 'last='] },
  ],
  [
    'of contacts in JSON have times from numbers among their properties',
    '{"id":"1","properties":{"$createdAt":1767225600000,"n":1}}\n',
    { bodies: [{ id: '1', properties: { $createdAt: '2026-01-01T00:00:00.000Z', n: 1 } }] },
    { name: 'x.ndjson', kind: 'contacts' },
  ],
  [
    'have no value for the null of a database in texts and tags',
    'description,title,tags,rating\n\\N,\\N,\\N,4\n',
    { bodies: [{ description: '', rating: 4 }], doubts: [] },
  ],
]

describe('records with texts for keys', () => {
  itImports(FILES)

  it('that share a weak key are named in the plan, from ten records and a twentieth of them', () => {
    const rows = Array.from(
      { length: 100 },
      (_, at) => `t,${at < 30 ? 'Info@shop.example' : `p${at}@x.example`},${at < 9 ? 'Acme' : ''}\n`,
    )
    const { plan } = imported('x.csv', `description,contact.email,account.name\n${rows.join('')}`)
    assert.deepEqual(plan.split('\n').slice(-2), [
      'Many records share a key. Leave the column out if they are of strangers:',
      '  contact.email is info@shop.example in 30 of 100 records: the service links them to one contact, and a purge of it removes them all',
    ])
  })
})
