import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Case, imported, itImports, type ImportOptions } from './imported.ts'

const AGAIN = 'the id occurs more than once: these rows change the same record, one after the other'
const WITHOUT_SOURCE =
  'an id without a source can mean a record of another system with the same id: add --set source=NAME'
const ROUNDED = 'an id looks like a number that a spreadsheet rounded, such as 1.18E+11: export the column as text'
const KEPT = 'must be a number that double precision keeps: finite, and unchanged if it is an integer'
const createdAt = '2026-01-01T10:00:00Z'
const MESSAGES =
  'id,source,createdAt,title,rating,contact.id,contact.properties.$name,message.id,message.incoming,message.content,message.createdAt'
const message = (id: string, titleAndRating: string, contactAndMessageId: string): string =>
  `${id},chat,${createdAt},${titleAndRating},${contactAndMessageId},true,Words,${createdAt}\n`
const incomingFrom = (id: string, contactId: string) => ({ id, contactId, incoming: true, content: 'Words', createdAt })

const FILES: readonly Case[] = [
  [
    'get fields from columns without regard to case and punctuation; a rating or a title needs no description',
    'Description,RATING,Source ID,contact_email,Title,x\n,4,7,a@b.example,,y\nSaid,,,,,\n,,,,Late,\n',
    {
      bodies: [
        { description: '', rating: 4, sourceId: '7', contact: { email: 'a@b.example' } },
        { description: 'Said' },
        { description: '', title: 'Late' },
      ],
    },
  ],
  [
    'keep the other columns on request, and number repeated names',
    'description,page.url,Note,Note\nGood,/x,a,b\n',
    { bodies: [{ description: 'Good', sourceData: { 'page.url': '/x', Note: 'a', 'Note (2)': 'b' } }] },
    { 'keep-rest': true },
  ],
  [
    'join the columns of one text, and collect the columns of tags; a filled cell replaces a constant',
    'Summary,Labels,Labels,source\nA,search,"b,c",\nB,,x,y\n',
    {
      bodies: [
        { description: 'A\nsearch\nb,c', tags: ['search', 'b', 'c'], source: 'jira' },
        { description: 'B\nx', tags: ['x'], source: 'y' },
      ],
    },
    { map: ['Summary=description', 'Labels=tags', 'Labels=description'], set: ['source=jira'] },
  ],
  [
    'are refused for a rounded id in any column; repeated ids and ids without a source are doubts',
    'sourceId,description,contact.id\n1,a,u1\n1.18E+11,b,u1\n"1,18E+11",c,\n3,d,1E+05\n1,e,\n2,f,\n',
    {
      lines: ['line 2', 'line 6', 'line 7'],
      refused: [3, 4, 5].map((line) => `line ${line}: ${ROUNDED}`),
      doubts: [`line 6: ${AGAIN}`, `lines 2, 6–7: ${WITHOUT_SOURCE}`],
    },
  ],
  ['are not doubtful for the same id in another source', 'source,sourceId,description\na,1,x\nb,1,y\n', { doubts: [] }],
  [
    'keep the digits of every number; the service refuses numbers that it cannot represent',
    'description,meta,account.name,account.contractValue\na,"{""n"":1161888007138312192}",,\nb,,B,12345678901234567890\nc,"{""n"":1.10}",C,2.50\n',
    {
      texts: [
        '{"rating":12345678901234567891,"description":"a","sourceData":{"n":1161888007138312192}}',
        '{"rating":12345678901234567891,"description":"b","account":{"name":"B","contractValue":12345678901234567890}}',
        '{"rating":12345678901234567891,"description":"c","sourceData":{"n":1.10},"account":{"name":"C","contractValue":2.50}}',
      ],
      refused: [
        `line 2: rating ${KEPT}; sourceData.n ${KEPT}`,
        `line 3: account.contractValue ${KEPT}; rating ${KEPT}`,
        `line 4: rating ${KEPT}`,
      ],
    },
    { map: ['meta=sourceData'], set: ['rating=12345678901234567891'] },
  ],
  [
    'map members of JSON: a number becomes its text as an id, null is left out, and digits are kept',
    '{"id":9912140633506421123,"text":"a","n":1161888007138312192,"stars":null}\n{"id":null,"text":7,"stars":"4","who":{"mail":"m@b.example"}}\n',
    {
      texts: [
        '{"sourceId":"9912140633506421123","description":"a","sourceData":{"n":1161888007138312192}}',
        '{"description":"7","rating":4,"contact":{"email":"m@b.example"}}',
      ],
    },
    {
      name: 'x.ndjson',
      map: ['id=sourceId', 'text=description', 'stars=rating', 'n=sourceData.n', 'who.mail=contact.email', 'who='],
    },
  ],
  [
    'of JSON: options name numbers, true and false by their texts',
    '{"description":"a","t":false,"r":1}\n{"description":"b","t":true,"r":true}\n',
    {
      bodies: [
        { description: 'a', isTranscript: true, rating: 5 },
        { description: 'b', isTranscript: false, rating: 4 },
      ],
    },
    { name: 'x.ndjson', map: ['t=isTranscript:false', 'r=rating'], 'map-value': ['rating 1=5', 'rating true=4'] },
  ],
  [
    'of JSON keep the type of free fields whose values no option names',
    '{"description":"a","s":true}\n{"description":"b","s":1}\n{"description":"c","s":2}\n',
    {
      bodies: [
        { description: 'a', sourceData: { s: true } },
        { description: 'b', sourceData: { s: 'one' } },
        { description: 'c', sourceData: { s: 2 } },
      ],
    },
    { name: 'x.ndjson', map: ['s=sourceData.s'], 'map-value': ['sourceData.s 1=one'] },
  ],
  [
    'of JSON keep their own values; constants fill missing ones and null',
    '{"description":"a","source":"own","contact":{"email":"a@b.example"}}\n{"description":"b","source":null}\n',
    {
      bodies: [
        { description: 'a', source: 'own', contact: { email: 'a@b.example', name: 'N' } },
        { description: 'b', source: 'given', contact: { email: 'x@y.example', name: 'N' } },
      ],
    },
    { name: 'x.ndjson', set: ['source=given', 'contact.email=x@y.example', 'contact.name=N'] },
  ],
  [
    'of JSON count null as no value: neither as a source nor as a rating or a title',
    '{"sourceId":"1","source":null,"description":"a"}\n{"rating":null,"title":null}\n',
    { doubts: [`line 1: ${WITHOUT_SOURCE}`], refused: ['line 2: description is required'] },
    { name: 'x.ndjson' },
  ],
  [
    'of JSON keep their own members with dots: a constant does not replace them',
    '{"description":"a","sourceData":{"a.b":"own"}}\n',
    { bodies: [{ description: 'a', sourceData: { 'a.b': 'own', c: 'x' } }] },
    { name: 'x.ndjson', set: ['sourceData.a.b=x', 'sourceData.c=x'] },
  ],
  [
    'of JSON keep the members beside a constant, at any depth, and a malformed object there',
    '{"description":"a","contact":{"email":"x@y.example","sourceData":{"plan":"pro"}}}\n{"description":null,"rating":5,"contact":{"name":"Ada","sourceData":"x"}}\n',
    {
      bodies: [
        { description: 'a', contact: { email: 'x@y.example', sourceData: { plan: 'pro', origin: 'import' } } },
        { description: '', rating: 5, contact: { name: 'Ada', sourceData: 'x' } },
      ],
      refused: ['line 2: contact.sourceData must be an object'],
    },
    { name: 'x.ndjson', set: ['contact.sourceData.origin=import'] },
  ],
  [
    'are refused for a malformed object, also if other cells give members of it',
    'description,meta,url\na,{a},/x\nb,[1],/x\nc,"{""a"":1}",/x\n',
    {
      bodies: [
        { description: 'a', sourceData: '{a}' },
        { description: 'b', sourceData: [1] },
        { description: 'c', sourceData: { a: 1, url: '/x' } },
      ],
      refused: ['line 2: sourceData must be an object', 'line 3: sourceData must be an object'],
    },
    { map: ['meta=sourceData', 'url=sourceData.url'] },
  ],
  [
    'get the refusals of the service in a dry run',
    `{"description":"a","rating":1161888007138312192}\n{"description":"a","sourceData":${'['.repeat(70)}${']'.repeat(70)}}\n{"description":"${'x'.repeat(600_000)}"}\n{"description":"a","nope":1}\n`,
    {
      refused: [
        `line 1: rating ${KEPT}`,
        'line 2: The body must be nested at most 64 levels deep',
        'line 3: the record has more than 512 KiB',
        'line 4: nope is not a known member, and handling=strict refuses unknown ones',
      ],
    },
    { name: 'x.ndjson' },
  ],
  [
    'are feedback if a file in a layout of contacts also has a column of feedback',
    'external_id,name,email,description,rating\nF-1,A,a@x.example,No legend,2\n',
    { bodies: [{ description: 'No legend', rating: 2 }] },
  ],
  [
    'are feedback if an option names a field of feedback, even in a layout of contacts',
    'external_id,name,email,text\nF-1,A,a@x.example,No legend\n',
    { bodies: [{ source: 's', sourceId: 'F-1', description: 'No legend' }] },
    { map: ['external_id=sourceId', 'text=description'], set: ['source=s'] },
  ],
  [
    'use a layout of contacts, which options change',
    'name,email,external_id,role,tags\nAda,ada@b.example, 7 ,end-user,vip\n',
    {
      bodies: [
        {
          source: 'zendesk',
          id: '7',
          properties: { $name: 'Ada', $email: 'ada@b.example', role: 'end-user', tags: 'vip' },
        },
      ],
    },
    { map: ['role=properties.role'] },
  ],
  [
    'of a conversation have messages by the contact of the row, without a column for the author',
    `${MESSAGES}\n${message('k', 'Title,2', 'u1,Ada,m1')}${message('k', ',', 'u2,,m2')}${message('k', ',', 'u1,,m3')}`,
    {
      lines: ['lines 2–4'],
      bodies: [
        {
          id: 'k',
          source: 'chat',
          createdAt,
          title: 'Title',
          rating: 2,
          contacts: [{ id: 'u1', properties: { $name: 'Ada' } }, { id: 'u2' }],
          messages: [incomingFrom('m1', 'u1'), incomingFrom('m2', 'u2'), incomingFrom('m3', 'u1')],
        },
      ],
    },
    { kind: 'conversations' },
  ],
  [
    'of a conversation are refused for malformed properties, also beside valid ones',
    `id,source,createdAt,own,contact.id,about\nA,s,${createdAt},{a},u,{b}\nA,s,${createdAt},"{""n"":1}",,\nB,s,${createdAt},"{""n"":1}",,\nB,s,${createdAt},"{""m"":2}",,\n`,
    {
      refused: ['lines 2–3: contacts.0.properties must be an object; properties must be an object'],
    },
    { kind: 'conversations', map: ['own=properties', 'about=contact.properties'] },
  ],
  [
    'get a doubt for members of a conversation that are left out',
    'id,message.id,contact.properties.$name\nc,m,Ada\n',
    { doubts: ['line 2: members of the contact are left out, since the row has no contact.id: properties'] },
    { kind: 'conversations' },
  ],
  [
    'of a conversation have incoming messages where a cell has a given word, in upper or lower case',
    `id,source,createdAt,message.id,type,message.content,message.createdAt\n${['User', ' LEAD ', 'admin'].map((type, at) => `k,chat,${createdAt},m${at},${type},,${createdAt}\n`).join('')}`,
    {
      bodies: [
        {
          id: 'k',
          source: 'chat',
          createdAt,
          contacts: [],
          messages: [true, true, false].map((incoming, at) => ({ id: `m${at}`, incoming, content: '', createdAt })),
        },
      ],
    },
    { kind: 'conversations', map: ['type=message.incoming:user|Lead'] },
  ],
]

describe('records', () => {
  itImports(FILES)

  it('of a long conversation go in parts, each with its title and rating', () => {
    const rows = Array.from({ length: 1_001 }, (_, at) => message('L', at === 700 ? 'Title,2' : ',', `u1,,m${at}`))
    const { bodies, lines, refused } = imported('x.csv', `${MESSAGES}\n${rows.join('')}`, { kind: 'conversations' })
    const parts = bodies as { title: string; rating: number; messages: unknown[] }[]
    assert.deepEqual(
      parts.map(({ title, rating, messages }) => [title, rating, messages.length]),
      [
        ['Title', 2, 1_000],
        ['Title', 2, 1],
      ],
    )
    assert.deepEqual([lines, refused], [['lines 2–1001', 'line 1002'], []])
  })

  it('have a plan with the facts that a person has to check', () => {
    const { plan } = imported('x.csv', `name,email,external_id\n"${'A'.repeat(80_000)}",a@b.example,7\n`)
    assert.match(plan, /The layout is zendesk-users; --layout none turns it off\./)
    assert.match(plan, /external_id {2}→ {2}id\n[\s\S]*\(default\) +→ {2}source = zendesk/)
    assert.ok(plan.length < 2_000, `${plan.length} characters`)
  })

  it('cannot have unknown fields or columns, or two columns for one value', () => {
    const cases: readonly (readonly [ImportOptions, RegExp])[] = [
      [{ map: ['x=title'] }, /a column that the file does not have: x/],
      [{ map: ['description=text'] }, /no field text in feedback/],
      [{ map: ['description'] }, /does not have the form/],
      [{ map: ['Stars=tags:constructor'] }, /no field tags:constructor/],
      [{ 'map-value': ['rating=5'] }, /^ImportError: rating=5 does not have the form --map-value field cell=value/],
      [{ set: ['constructor=1'] }, /no field constructor/],
      [{ layout: 'x' }, /--layout must be one of/],
      [{ layout: 'zendesk-users', kind: 'feedback' }, /zendesk-users is for contacts, not for feedback/],
      [{ kind: 'x' }, /--kind must be one of/],
      [{ map: ['Stars=rating', 'Score=rating'] }, /Several columns become rating: Stars, Score\. .*--map 'Score='/],
    ]
    for (const [options, says] of cases)
      assert.throws(() => imported('x.csv', 'description,Stars,Score\na,1,2\n', options), says)
    assert.throws(
      () => imported('x.csv', 'E-mail,Email,id\na,b,c\n', { kind: 'contacts' }),
      /Several columns become properties\.\$email/,
    )
  })
})
