import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { makeToken } from '../../contract/token-format.ts'
import { addToken, type Scope } from '../../db/tokens.ts'
import { signIn, textOf, type Visitor } from '../support/insights-visitor.ts'
import { type OwnWorkspace, ownWorkspace } from '../support/own-workspace.ts'
import { sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const service = await sharedService()
after(() => service.stop())

const WAIT = { headers: { Prefer: 'wait=30' } }
const DAY_MS = 86_400_000
const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()
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

describe('the changes of /insights', () => {
  let reader: Visitor
  let admin: Visitor
  let ids: string[]
  before(async () => {
    reader = await signIn(base, await tokenWith('read'))
    admin = await signIn(base, own.adminToken)
    ids = []
    for (let at = 0; at < 6; at++)
      ids.push(
        await create({
          description: `The export ${at} fails`,
          rating: 1,
          source: 'shop',
          tags: ['export'],
          createdAt: daysAgo(at),
          account: { name: 'Acme' },
        }),
      )
    await own.request(
      '/api/v1/themes',
      { name: 'Exports', feedbackIds: ids.slice(0, 3) },
      { token: own.adminToken, ...WAIT },
    )
  })

  it('let only people with the scope correct, and only administrators delete and set sources', async () => {
    const editor = await signIn(base, await tokenWith('read', 'edit'))
    const path = `/feedback/${ids[0]}`
    assert.doesNotMatch((await reader.get(path)).text, /Correct it/)
    assert.match((await editor.get(path)).text, /Correct it/)
    assert.doesNotMatch((await editor.get(path)).text, /Delete it/)
    assert.equal((await reader.send(path, { act: 'kind', kind: 'praise' })).status, 403)
    assert.equal((await editor.send(path, { act: 'delete', sure: 'yes' })).status, 403)
    assert.equal((await editor.send('/settings', { act: 'source', source: 'shop' })).status, 403)
    assert.equal((await editor.get('/settings')).status, 404)
  })

  it('refuse a change without the token of its form', async () => {
    const path = `/feedback/${ids[0]}`
    const fields = { act: 'kind', kind: 'praise' }
    assert.equal((await admin.send(path, { ...fields, formToken: 'x' })).status, 403)
    assert.equal((await admin.send(path, fields, { 'Sec-Fetch-Site': 'cross-site' })).status, 403)
    const { text } = await reader.get('/find')
    const [, formToken] = /name="formToken" value="([^"]+)"/.exec(text)!
    assert.equal((await admin.send(path, { ...fields, formToken: formToken! })).status, 403)
  })

  /** Sends the form with which the answer takes the change back. */
  const undo = async (answer: { text: string }): Promise<void> => {
    const [, action, act] =
      /<form method="post" action="(?:\.\.\/)*insights([^"]+)" class="change" id="form-(body|unsplit)">/.exec(
        answer.text,
      )!
    const [, body] = /name="body" value="([^"]+)"/.exec(answer.text)!
    const [, source] = /name="source" value="([^"]+)"/.exec(answer.text) ?? []
    const undone = await admin.send(action!, {
      act: act!,
      body: body!.replaceAll('&quot;', '"'),
      ...(source !== undefined && { source }),
    })
    assert.equal(undone.status, 200, textOf(undone.text))
  }
  type Shown = { tags: string[]; kind?: string; isHidden?: boolean; themeId?: string; themeBy?: string }
  const read = async (id: string): Promise<Shown> =>
    (await own.get(`/api/v1/feedbacks/${id}`, { token: own.adminToken })).body.feedback as never

  it('correct tags, kind, theme and hiding, each with undo', async () => {
    const id = ids[5]!
    const former = await read(id)
    const [themeId] = [(await read(ids[0]!)).themeId!]
    for (const [fields, member, expected] of [
      [{ act: 'tags', tags: 'one\r\ntwo, three\n' }, 'tags', ['one', 'two, three']],
      [{ act: 'kind', kind: 'question' }, 'kind', 'question'],
      [{ act: 'themeId', themeId }, 'themeId', themeId],
      [{ act: 'body', body: '{"isHidden":true}' }, 'isHidden', true],
    ] as const) {
      const answer = await admin.send(`/feedback/${id}`, fields)
      assert.equal(answer.status, 200, textOf(answer.text))
      assert.deepEqual((await read(id))[member], expected)
      if (member === 'isHidden') {
        assert.match(textOf((await reader.get('/feedback')).text), /\b5 feedback of all times/)
        assert.match((await reader.get('/feedback?isHidden=true')).text, new RegExp(id))
        assert.equal((await reader.get(`/feedback/${id}`)).status, 200)
      }
      await undo(answer)
      // Without the correction, the service may find another theme than before.
      if (member === 'themeId') assert.notEqual((await read(id)).themeBy, 'person')
      else assert.deepEqual((await read(id))[member], former[member])
    }
    // The undo of a second correction restores the first one.
    await admin.send(`/feedback/${id}`, { act: 'kind', kind: 'question' })
    await undo(await admin.send(`/feedback/${id}`, { act: 'kind', kind: 'praise' }))
    assert.equal((await read(id)).kind, 'question')
    assert.equal((await admin.send(`/feedback/${id}`, { act: 'kind', kind: 'nonsense' })).status, 400)
  })

  it('delete a feedback once the reader is sure', async () => {
    const id = await create({ description: 'To be deleted', tags: [], createdAt: daysAgo(200) })
    assert.equal((await admin.send(`/feedback/${id}`, { act: 'delete' })).status, 400)
    assert.equal((await admin.send(`/feedback/${id}`, { act: 'delete', sure: 'yes' })).status, 200)
    await until('it is gone', async () => (await reader.get(`/feedback/${id}`)).status === 404)
  })

  it('rename, hide, merge and split themes, each with undo', async () => {
    const into = (await read(ids[0]!)).themeId!
    assert.equal((await admin.send(`/feedback/${ids[3]}`, { act: 'themeId', themeId: into })).status, 200)
    const split = await admin.send('/themes', { act: 'split', name: 'Split off', feedbackIds: [ids[2]!, ids[3]!] })
    assert.equal(split.status, 200, textOf(split.text))
    const other = (await read(ids[2]!)).themeId!
    const path = `/themes/${other}`
    const title = async (): Promise<string> => /<h1>([^<]*)/.exec((await reader.get(path)).text)![1]!
    assert.equal(await title(), 'Theme: Split off')
    const renamed = await admin.send(path, { act: 'name', name: 'Renamed' })
    assert.equal(await title(), 'Theme: Renamed')
    await undo(renamed)
    assert.equal(await title(), 'Theme: Split off')
    const hidden = await admin.send(path, { act: 'body', body: '{"isHidden":true}' })
    assert.match((await reader.get(path)).text, /It is hidden/)
    await undo(hidden)
    const merged = await admin.send(path, { act: 'mergedInto', mergedInto: into })
    assert.equal((await read(ids[2]!)).themeId, into)
    await undo(merged)
    assert.equal((await read(ids[2]!)).themeId, other)
    await undo(split)
    assert.notEqual((await read(ids[2]!)).themeId, other)
    const { themeId, themeBy } = await read(ids[3]!)
    assert.deepEqual([themeId, themeBy], [into, 'person'])
  })

  it('set the scale, the link and the fields of a source, with undo', async () => {
    const settings = async (): Promise<unknown> =>
      (
        (await own.get('/api/v1/sources', { token: own.adminToken })).body['sources'] as unknown as { source: string }[]
      ).find(({ source }) => source === 'shop')
    const former = await settings()
    const fields = {
      act: 'source',
      source: 'shop',
      scale: '0 10',
      link: 'https://a.example/{sourceId}',
      fields: 'plan account subscription.plan',
    }
    const answer = await admin.send('/settings', fields)
    assert.equal(answer.status, 200, textOf(answer.text))
    assert.deepEqual(
      (({ scale, fields: declared }) => ({ scale, declared }))(
        (await settings()) as { scale: unknown; fields: unknown },
      ),
      {
        scale: [0, 10],
        declared: [{ name: 'plan', of: 'account', path: 'subscription.plan' }],
      },
    )
    assert.equal((await reader.get('/groups?by=field.plan')).status, 200)
    await undo(answer)
    assert.deepEqual(await settings(), former)
    assert.equal((await admin.send('/settings', { ...fields, scale: 'five' })).status, 400)
  })
})
