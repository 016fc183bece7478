import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { makeToken } from '../../contract/token-format.ts'
import { addToken } from '../../db/tokens.ts'
import { type OwnWorkspace, ownWorkspace } from '../support/own-workspace.ts'
import type { Answer } from '../support/service.ts'
import { sharedService } from '../support/shared-service.ts'

const service = await sharedService()
after(() => service.stop())

const WAIT = { Prefer: 'wait=30' }
type Shown = { id: string; themeId?: string; themeName?: string; themeBy?: string; kind?: string }
type Theme = { id: string; name?: string; isHidden: boolean; mergedInto?: string }
type Group = { theme: string | null; themeName?: string; feedback: number }

describe('a theme that a person makes', () => {
  let own: OwnWorkspace
  let editToken: string
  const name = `themes ${randomUUID()}`
  before(async () => {
    own = await ownWorkspace({ sql: service.all, urls: service.urls }, name)
    editToken = makeToken()
    await addToken(service.all, { token: editToken, workspace: name, scopes: ['read', 'edit'], expiresAt: null })
  })

  const send = async (): Promise<string> => {
    const answer = await own.post('/feedbacks', { description: 'A text', tags: [] }, { headers: WAIT })
    return (answer.body.feedback as Shown).id
  }
  const make = (body: object): Promise<Answer> =>
    own.request('/api/v1/themes', body, { method: 'POST', token: editToken, headers: WAIT })
  const made = async (themeName: string, feedbackIds: string[]): Promise<string> => {
    const { status, body, text } = await make({ name: themeName, feedbackIds })
    assert.equal(status, 201, text)
    return body['themeId'] as string
  }
  const edit = async (id: string, body: object, status = 200): Promise<void> => {
    const path = `/api/v1/themes/${id}`
    const answer = await own.request(path, body, { method: 'PATCH', token: editToken, headers: WAIT })
    assert.equal(answer.status, status, answer.text)
  }
  const read = async (path: string): Promise<Answer['body']> =>
    (await own.get(`/api/v1${path}`, { token: own.readToken })).body
  const shown = async (id: string): Promise<Pick<Shown, 'themeId' | 'themeName' | 'themeBy'>> => {
    const { themeId, themeName, themeBy } = (await read(`/feedbacks/${id}`)).feedback as Shown
    return { ...(themeId && { themeId }), ...(themeName && { themeName }), ...(themeBy && { themeBy }) }
  }
  const theme = async (id: string): Promise<Theme> => (await read(`/themes/${id}`)).theme as Theme
  const listed = async (query: string): Promise<string[]> =>
    ((await read(`/feedbacks${query}`))['feedbacks'] as unknown as Shown[]).map(({ id }) => id).toSorted()
  const countOf = async (id: string): Promise<number | undefined> =>
    ((await read('/counts?by=theme&limit=500'))['counts'] as unknown as Group[]).find((group) => group.theme === id)
      ?.feedback

  it('has its feedback, is renamed and hidden, and gives a feedback back', async () => {
    const ids = [await send(), await send()].toSorted()
    const id = await made(' Login ', ids)
    assert.deepEqual(await shown(ids[0]!), { themeId: id, themeName: 'Login', themeBy: 'person' })
    assert.deepEqual(await listed(`?themeId=${id}`), ids)
    assert.equal(await countOf(id), 2)
    await edit(id, { name: 'Sign-in', removedFeedbackIds: [ids[0]] })
    assert.deepEqual(await shown(ids[0]!), {})
    assert.deepEqual(await shown(ids[1]!), { themeId: id, themeName: 'Sign-in', themeBy: 'person' })
    await edit(id, { isHidden: true })
    assert.equal(await countOf(id), undefined)
    assert.equal((await theme(id)).isHidden, true)
    await edit(id, { isHidden: null })
    assert.equal(await countOf(id), 1)
  })

  it('is merged into another one, which ends a merge the other way round, and is taken apart again', async () => {
    const [one, other] = [await send(), await send()]
    const [login, sso] = [await made('Login', [one]), await made('SSO', [other])]
    await edit(login, { mergedInto: sso })
    assert.deepEqual(await shown(one), { themeId: sso, themeName: 'SSO', themeBy: 'person' })
    assert.deepEqual(await listed(`?themeId=${sso}`), [one, other].toSorted())
    assert.equal(await countOf(sso), 2)
    await edit(sso, { mergedInto: login })
    assert.equal((await theme(login)).mergedInto, undefined)
    assert.deepEqual((await shown(other)).themeId, login)
    await edit(sso, { mergedInto: null })
    assert.deepEqual([(await shown(one)).themeId, (await shown(other)).themeId], [login, sso])
  })

  it('is refused without a feedback, and with the id of another record', async () => {
    const id = await made('Export', [await send()])
    assert.equal((await make({ name: 'None', feedbackIds: [randomUUID()] })).status, 404)
    assert.equal((await make({ name: ' ', feedbackIds: [] })).status, 400)
    await edit(randomUUID(), { name: 'None' }, 404)
    await edit(id, { mergedInto: randomUUID() }, 404)
    await edit(id, { mergedInto: id }, 400)
    await edit(id, { mergedInto: id.toUpperCase() }, 400)
    const both = await send()
    await edit(id, { feedbackIds: [both], removedFeedbackIds: [both.toUpperCase()] }, 400)
    await edit(id, { feedbackIds: [both.toUpperCase()] })
    assert.equal((await shown(both)).themeId, id)
    assert.equal((await make({ name: '\u200b', feedbackIds: [both] })).status, 400)
    assert.equal((await make({ name: 'None', feedbackIds: [] })).status, 400)
    await edit(id, {}, 400)
  })

  it('is listed with the figures of its feedback, and without any while it is hidden', async () => {
    const id = await made('Counted', [await send(), await send()])
    const feedbackOf = async (): Promise<number | undefined> =>
      ((await read('/themes')).themes as (Theme & { feedback: number })[]).find((each) => each.id === id)?.feedback
    assert.equal(await feedbackOf(), 2)
    await edit(id, { isHidden: true })
    assert.equal(await feedbackOf(), 0)
  })

  it('appears in the change feed and in the export of a feedback, whose kind a person can set as well', async () => {
    const feedbackId = await send()
    const id = await made('Export', [feedbackId])
    const path = `/api/v1/feedbacks/${feedbackId}`
    await own.request(path, { kind: 'problem' }, { method: 'PATCH', token: editToken, headers: WAIT })
    const { changes } = (await read('/changes?limit=500')) as unknown as {
      changes: { kind: string; id: string; record: Shown & Theme }[]
    }
    const found = (kind: string, of: string) =>
      changes.find((change) => change.kind === kind && change.id === of)?.record
    assert.equal(found('theme', id)?.name, 'Export')
    assert.deepEqual([found('feedback', feedbackId)?.themeId, found('feedback', feedbackId)?.kind], [id, 'problem'])
    assert.ok((await listed('?kind=problem')).includes(feedbackId))
    await own.request(path, { themeId: null, kind: null }, { method: 'PATCH', token: editToken, headers: WAIT })
    assert.deepEqual(await shown(feedbackId), {})
  })
})
