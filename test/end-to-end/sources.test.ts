import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { outputOf, runCommand } from '../support/command.ts'
import { type OwnWorkspace, ownWorkspace } from '../support/own-workspace.ts'
import type { Answer } from '../support/service.ts'
import { sharedService } from '../support/shared-service.ts'

const service = await sharedService()
after(() => service.stop())

const LINK = 'https://shop.example/orders/{sourceId}'
const SHOP = { source: 'Shop', feedback: 20, ratings: 20, leastRating: 1, mostRating: 5 }
const UNSET = { isScaleGiven: false, link: null, fields: [] }

const PLAN = { name: 'plan', path: 'plan', of: 'account' }

describe('the sources of feedback', () => {
  let own: OwnWorkspace
  const workspace = `sources ${crypto.randomUUID()}`
  before(async () => {
    own = await ownWorkspace({ sql: service.all, urls: service.urls }, workspace)
    await own.submitAll([
      ...Array.from({ length: 20 }, (_, at) => ({
        operation: 'create_feedback',
        body: { description: 'x', source: 'Shop', rating: 1 + (at % 5) },
      })),
      { operation: 'create_feedback', body: { description: 'x', source: 'Mail' } },
    ])
  })
  const list = async (query = ''): Promise<Answer> => service.get(`/api/v1/sources${query}`, { token: own.readToken })
  type Given = { token?: string; type?: string; prefer?: string; method?: string }
  const put = async (
    source: string,
    body: string | object,
    { token = own.adminToken, type = 'application/json', prefer = '', method = 'PUT' }: Given = {},
  ): Promise<{ status: number; headers: Headers; body: unknown }> => {
    const response = await fetch(`${service.urls[0]}/api/v1/sources/${encodeURIComponent(source)}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': type, Prefer: prefer },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
  const refusedPaths = ({ body }: { body: unknown }): string[] =>
    (body as { error: { path: string }[] }).error.map(({ path }) => path)

  it('are listed with their feedback, ratings and settings, by name', async () => {
    const none = { feedback: 1, ratings: 0, leastRating: null, mostRating: null, scale: null }
    assert.deepEqual((await list()).body, {
      sources: [
        { source: 'Mail', ...none, ...UNSET },
        { ...SHOP, scale: [1, 5], ...UNSET },
      ],
      next: null,
    })
    const first = await list('?limit=1')
    const second = await list(`?limit=1&next=${first.body.next}`)
    assert.deepEqual(
      [...(first.body['sources'] as never[]), ...(second.body['sources'] as never[])],
      (await list()).body['sources'],
    )
    assert.equal(second.body.next, null)
    for (const query of ['?next=x', '?limit=0', '?source=Shop']) assert.equal((await list(query)).status, 400, query)
  })

  it('take a scale and a link from an administrator, which count at once', async () => {
    const given = { ...SHOP, scale: [0, 10], isScaleGiven: true, link: LINK, fields: [] }
    const answer = await put('Shop', { scale: [0, 10], link: LINK, other: 1 })
    assert.deepEqual([answer.status, answer.body], [200, { source: given }])
    assert.deepEqual(((await list()).body['sources'] as unknown[])[1], given)
    const { body } = await service.get('/api/v1/counts?by=source&source=Shop', { token: own.readToken })
    assert.equal(body.total['satisfaction'], 0.3)
    // The settings are replaced as a whole.
    const without = await put('Shop', { scale: null })
    assert.deepEqual(without.body, { source: { ...given, scale: null, link: null } })
    assert.deepEqual((await put('Shop', {})).body, { source: { ...SHOP, scale: [1, 5], ...UNSET } })
  })

  it('can be set before their first feedback, under any name', async () => {
    const name = 'Läden/Süd & 100%'
    const { status, body } = await put(name, { scale: [-2, 2] })
    const [{ source }] = [body as { source: object }]
    assert.deepEqual(
      [status, source],
      [
        200,
        {
          source: name,
          feedback: 0,
          ratings: 0,
          leastRating: null,
          mostRating: null,
          scale: [-2, 2],
          isScaleGiven: true,
          link: null,
          fields: [],
        },
      ],
    )
  })

  it('refuse other tokens before the body, and other bodies', async () => {
    for (const token of [own.readToken, own.accessToken]) assert.equal((await put('Shop', '{', { token })).status, 403)
    assert.equal((await put('Shop', {}, { token: 'unknown' })).status, 401)
    for (const [body, paths] of [
      ['{', ['']],
      ['[]', ['']],
      [{ scale: [5, 1] }, ['scale']],
      [{ scale: [1] }, ['scale.1']],
      [{ scale: [1, 2, 3] }, ['scale.2']],
      [{ scale: ['1', 5], link: 'javascript:{sourceId}' }, ['scale.0', 'link']],
      [{ link: 'https://shop.example' }, ['link']],
      [{ fields: {} }, ['fields']],
      [
        { fields: [{ name: 'a plan', path: '', of: 'project' }, 1] },
        ['fields.0.name', 'fields.0.path', 'fields.0.of', 'fields.1'],
      ],
      [{ fields: [PLAN, { ...PLAN, path: 'other' }] }, ['fields']],
      [{ fields: Array.from({ length: 21 }, (_, at) => ({ ...PLAN, name: `plan${at}` })) }, ['fields']],
    ] as const) {
      const answer = await put('Shop', body)
      assert.deepEqual([answer.status, refusedPaths(answer)], [400, paths], JSON.stringify(body))
    }
    for (const name of [' ', 'x'.repeat(513)]) assert.deepEqual(refusedPaths(await put(name, {})), ['source'])
    assert.equal((await put('Shop', {}, { type: 'text/plain' })).status, 415)
    assert.equal((await put('Shop', { link: 'x'.repeat(600_000) })).status, 413)
    const strict = await put('Shop', { scales: [1, 5] }, { prefer: 'handling=strict' })
    assert.deepEqual([strict.status, refusedPaths(strict)], [400, ['scales']])
    assert.equal(strict.headers.get('preference-applied'), 'handling=strict')
    const wrong = await put('Shop', {}, { method: 'POST' })
    assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'PUT'])
  })

  it('are listed and set by npm run source', async () => {
    const run = (...words: string[]) => runCommand(service, 'cli/source-command.ts', ...words, '--workspace', workspace)
    const output = (...words: string[]) =>
      outputOf(service, 'cli/source-command.ts', ...words, '--workspace', workspace)
    await output('set', 'Command', '--scale', '0..10', '--link', LINK)
    assert.match(
      await output('list'),
      new RegExp(`^Command  0 feedback  no ratings  scale 0..10, as set  ${LINK}$`, 'm'),
    )
    await output('set', 'Fields', '--field', 'plan=account.plan', '--field', 'page=feedback.context.page')
    assert.match(await output('list'), /^Fields .* {2}fields plan=account\.plan page=feedback\.context\.page$/m)
    await output('set', 'Command', '--field', 'seats=account.seats')
    await output('set', 'Command', '--scale', 'none')
    const listed = await output('list')
    // What the command does not name stays.
    assert.match(
      listed,
      new RegExp(`^Command  0 feedback  no ratings  no scale, as set  ${LINK}  fields seats=account.seats$`, 'm'),
    )
    assert.match(listed, /^Shop {2}20 feedback {2}20 ratings from 1 to 5 {2}scale 1\.\.5$/m)
    assert.match(listed, /^Mail {2}1 feedback {2}no ratings {2}scale unknown$/m)
    for (const [words, why] of [
      [['set', 'Shop', '--scale', '5..1'], /--scale must be none, or two numbers/],
      [['set', 'Shop', '--scale', '1-5'], /--scale must be/],
      [['set', 'Shop', '--link', 'shop.example/{sourceId}'], /--link must be an address/],
      [['set', 'Shop', '--field', 'plan'], /--field must be NAME=OF\.PATH/],
      [['set', 'Shop', '--field', 'plan=project.x'], /--field must be/],
      [['set', 'Shop', '--field', 'plan=account.x', '--field', 'plan=account.y'], /No NAME comes twice/],
      [['set'], /usage/],
      [['set', ' '], /SOURCE must be/],
    ] as const) {
      const { code, stderr } = await run(...words)
      assert.notEqual(code, 0, words.join(' '))
      assert.match(stderr, why)
    }
  })
})
