import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { makeToken } from '../../contract/token-format.ts'
import { addToken, listTokens, revokeToken, type Scope } from '../../db/tokens.ts'
import { FROM_PAGE, post, signIn, textOf, type Visitor } from '../support/insights-visitor.ts'
import { type OwnWorkspace, ownWorkspace } from '../support/own-workspace.ts'
import { sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const service = await sharedService()
after(() => service.stop())

const WAIT = { headers: { Prefer: 'wait=30' } }
const DAY_MS = 86_400_000
const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()
const HOSTILE = `"><script>alert(1)</script><img src=x onerror='alert(1)'>`
const base = service.urls[0]!
let own: OwnWorkspace
const name = `insights ${randomUUID()}`

const tokenWith = async (...scopes: Scope[]): Promise<string> => {
  const token = makeToken()
  await addToken(service.all, { token, workspace: name, scopes, expiresAt: null })
  return token
}
const create = async (body: object): Promise<string> =>
  ((await own.post('/feedbacks', body, WAIT)).body.feedback as { id: string }).id

before(async () => {
  own = await ownWorkspace({ sql: service.all, urls: service.urls }, name)
})

describe('the sign-in of /insights', () => {
  const begin = (token: string, headers: Record<string, string> = FROM_PAGE, more = {}) =>
    post(`${base}/insights/session`, { act: 'begin', token, ...more }, headers)

  it('gives a cookie that no script reads and that ends, with Secure behind TLS', async () => {
    const answer = await begin(own.readToken)
    assert.equal(answer.status, 303)
    const cookie = answer.headers.get('set-cookie')!
    assert.match(cookie, /^insights=[\w.-]+; HttpOnly; SameSite=Lax; Max-Age=43200$/)
    assert.ok(!cookie.includes(own.readToken))
    const overTls = await begin(own.readToken, { ...FROM_PAGE, Origin: 'https://feedback.example' })
    assert.match(overTls.headers.get('set-cookie')!, /; Secure$/)
  })

  it('leads to the address that was asked for, and to no other site', async () => {
    const { insights } = (await (await fetch(`${base}/`)).json()) as { insights: string }
    const asked = await fetch(`${base}${insights}/feedback?q=battery`)
    assert.equal(asked.status, 401)
    assert.match(await asked.text(), /name="to" value="\/feedback\?q=battery"/)
    for (const [to, location] of [
      ['/feedback?q=battery', '../insights/feedback?q=battery'],
      ['//evil.example', '../insights'],
      ['/../../evil', '../insights'],
      ['@evil.example', '../insights'],
    ] as const)
      assert.equal((await begin(own.readToken, FROM_PAGE, { to })).headers.get('location'), location)
  })

  it('refuses a wrong token, a token that cannot read, and forms of other sites', async () => {
    assert.equal((await begin('nonsense')).status, 401)
    assert.equal((await begin(makeToken())).status, 401)
    assert.equal((await begin(own.accessToken)).status, 403)
    for (const headers of [
      {},
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
      { Origin: 'null' },
      { Origin: 'https://evil.example' },
    ])
      assert.equal((await begin(own.readToken, headers as Record<string, string>)).status, 403)
    assert.equal((await begin(own.readToken, { Origin: base })).status, 303)
  })

  it('takes no cookie that it has not signed', async () => {
    const { cookie } = await signIn(base, own.readToken)
    const [hash, end, signature] = cookie.slice('insights='.length).split('.') as [string, string, string]
    for (const value of [
      `${hash}.${Number(end) + 1}.${signature}`,
      `${hash.replace(/^./, (c) => (c === 'a' ? 'b' : 'a'))}.${end}.${signature}`,
      `${hash}.${end}.`,
      hash,
    ])
      assert.equal((await fetch(`${base}/insights`, { headers: { cookie: `insights=${value}` } })).status, 401, value)
  })

  it('ends with its token, and when the reader signs out', async () => {
    const token = await tokenWith('read')
    const visitor = await signIn(base, token)
    assert.equal((await visitor.get('')).status, 200)
    const out = await visitor.send('/session', { act: 'end' })
    assert.match(out.headers.get('set-cookie')!, /^insights=; .*Max-Age=0/)
    const found = (await listTokens(service.all)).filter(
      ({ workspace, scopes }) => workspace === name && scopes.join() === 'read',
    )
    for (const { id } of found) if (id !== undefined) await revokeToken(service.all, id)
    await until('the session ends', async () => (await visitor.get('')).status === 401)
  })
})

describe('the pages of /insights', () => {
  let reader: Visitor
  let admin: Visitor
  let ids: string[]
  before(async () => {
    reader = await signIn(base, await tokenWith('read'))
    admin = await signIn(base, own.adminToken)
    ids = []
    const account = { name: `Acme ${HOSTILE}`, contractValue: 5_000 }
    for (let at = 0; at < 6; at++)
      ids.push(
        await create({
          description: `The export of reports ${HOSTILE} fails each morning, number ${at}`,
          title: HOSTILE,
          rating: at < 4 ? 1 : 5,
          source: at % 2 === 0 ? 'shop' : HOSTILE,
          sourceId: `${HOSTILE}${at}`,
          tags: ['export', HOSTILE],
          createdAt: daysAgo(at),
          account,
          contact: { email: `p${at}@acme.example`, name: HOSTILE },
          project: { name: HOSTILE },
        }),
      )
    await create({
      description: 'Long ago',
      tags: ['export'],
      createdAt: daysAgo(40),
      source: 'shop',
      rating: 3,
      account,
    })
    const scale = await own.request(
      '/api/v1/sources/shop',
      { scale: [1, 5], link: 'https://shop.example/{sourceId}', fields: [] },
      { method: 'PUT', token: own.adminToken },
    )
    assert.equal(scale.status, 200)
    await own.request(
      '/api/v1/themes',
      { name: HOSTILE, feedbackIds: ids.slice(0, 3) },
      { token: own.adminToken, ...WAIT },
    )
    await own.post(
      '/conversations',
      {
        id: 'c1',
        source: 'chat',
        title: HOSTILE,
        createdAt: daysAgo(1),
        contacts: [],
        messages: [
          { id: 'm1', incoming: true, content: HOSTILE, createdAt: daysAgo(1), sourceUrl: 'javascript:alert(1)' },
        ],
      },
      WAIT,
    )
  })

  const PATHS = [
    '?createdFrom=0001-01-01&createdTo=9999-12-31',
    '',
    '/themes',
    '/accounts',
    '/sources',
    '/groups?by=tag',
    '/groups?by=customer',
    '/feedback',
    '/feedback?q=export',
    '/conversations',
    '/find?name=a',
    `/find?name=${encodeURIComponent(HOSTILE)}`,
  ]

  const linksOf = (page: string): string[] =>
    [...page.matchAll(/href="(?:\.\.\/)*insights([^"]*)"/g)].map(([, link]) => link!.replaceAll('&amp;', '&'))

  it('show texts of others as text, on every page that they lead to', async () => {
    const paths = new Set([...PATHS, '/settings'])
    for (const path of PATHS) {
      const { text } = await admin.get(path)
      for (const link of linksOf(text))
        if (/^\/(?:feedback|themes|accounts|customers|conversations)\/[\w-]+/.test(link)) paths.add(link)
    }
    assert.ok(paths.size > 18, [...paths].join(' '))
    for (const path of paths) {
      const { status, text, headers } = await admin.get(path)
      assert.equal(status, 200, `${path}: ${textOf(text)}`)
      assert.doesNotMatch(text, /<script|<img|javascript:|style="|NaN|undefined|\[object/, path)
      assert.ok(text.length < 100_000, `${path}: ${text.length}`)
      assert.match(
        headers.get('content-security-policy')!,
        /^default-src 'none'; style-src 'self';.* form-action 'self'/,
      )
    }
  })

  it('have figures that lead to as much feedback as they say', async () => {
    let followed = 0
    for (const path of [
      '',
      '/themes',
      '/accounts',
      '/sources',
      '/groups?by=tag',
      '/groups?by=kind',
      '/groups?by=month',
    ]) {
      const { text } = await reader.get(path)
      for (const [, link, figure] of text.matchAll(
        /<a href="(?:\.\.\/)*insights(\/feedback\?[^"]*)">([\d,]+)(?: rated| bad)?<\/a>/g,
      )) {
        const list = (await reader.get(link!.replaceAll('&amp;', '&'))).text
        const [, total] = /id="total">([\d,]+) feedback/.exec(list) ?? []
        assert.equal(total, figure, `${path} → ${link}`)
        followed++
      }
    }
    assert.ok(followed > 30, String(followed))
  })

  it('show the alerts of their span, also if later ones came', async () => {
    await service.all`
      insert into alert (workspace_id, id, subject, change, source, days, people, expected, created_at, change_position)
      select w.id, gen_random_uuid(), 'source', 'unhappy', case when n = 1 then 'Early' else 'Late' end, 7, 9, 2.5,
        case when n = 1 then timestamptz '2020-01-15T12:00:00Z' else '2020-03-01T12:00:00Z' end, n
      from workspace as w cross join generate_series(1, 10) as n where w.name = ${name}`
    const spanOf = async (query: string): Promise<string> => textOf((await reader.get(query)).text)
    const early = await spanOf('?createdFrom=2020-01-01&createdTo=2020-01-31')
    assert.match(early, /Less satisfied: source Early\s?: 9 people unhappy in 7 days up to 2020-01-15, where 2.5 were/)
    assert.doesNotMatch(early, /source Late/)
    assert.doesNotMatch(await spanOf('?createdFrom=2020-02-01&createdTo=2020-02-10'), /Less satisfied/)
    await service.all`delete from alert where workspace_id = (select id from workspace where name = ${name})`
  })

  it('compare with the time before, and say so', async () => {
    const { text } = await reader.get(`?createdFrom=${daysAgo(9).slice(0, 10)}&createdTo=${daysAgo(0).slice(0, 10)}`)
    const shown = textOf(text)
    assert.match(shown, /\(UTC\), compared with the time of the same length before it/)
    assert.match(shown, /Feedback 6 before: 0/)
    assert.match(shown, /New themes/)
  })

  it('explain a wrong address, and show no record of another workspace', async () => {
    for (const [path, status] of [
      ['?colour=red', 400],
      ['/feedback?createdFrom=yesterday', 400],
      ['/feedback?themeId=x', 400],
      ['/groups?by=constructor', 400],
      [`/feedback?q=${'x'.repeat(3_000)}`, 400],
      [`/feedback/${randomUUID()}`, 404],
      ['/feedback/constructor', 404],
      ['/constructor', 404],
      ['/feedback?next=nonsense', 200],
    ] as const)
      assert.equal((await reader.get(path)).status, status, path)
    const stranger = await ownWorkspace({ sql: service.all, urls: service.urls })
    const other = await signIn(base, stranger.readToken)
    assert.equal((await other.get(`/feedback/${ids[0]}`)).status, 404)
    assert.match(textOf((await other.get('/feedback')).text), /0 feedback/)
  })

  it('join near-identical texts, with their number', async () => {
    const text = 'The parcel arrived two weeks late and the box was torn open on one side when we got it'
    for (let at = 0; at < 3; at++) await create({ description: text, createdAt: daysAgo(300) })
    const list = '/feedback?q=parcel'
    await until('the texts are near-identical', async () =>
      /3 near-identical texts/.test((await reader.get(list)).text),
    )
    const { text: page } = await reader.get(list)
    assert.equal(page.match(/The parcel arrived/g)?.length, 1)
    const [link] = linksOf(page).filter((each) => each.startsWith('/feedback?similarId='))
    assert.match((await reader.get(link!)).text, /id="total">3 feedback/)
  })

  it('take GET and POST alone', async () => {
    const { status, headers } = await fetch(`${base}/insights`, { method: 'PUT' })
    assert.deepEqual([status, headers.get('allow')], [405, 'GET, POST'])
    const style = await fetch(`${base}/insights/style.css`)
    assert.deepEqual([style.status, style.headers.get('content-type')], [200, 'text/css; charset=utf-8'])
  })
})
