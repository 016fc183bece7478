import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { ownWorkspace } from '../support/own-workspace.ts'
import type { Answer } from '../support/service.ts'
import { sharedService } from '../support/shared-service.ts'
import { untilIndexed } from '../support/until-indexed.ts'

const rowsOf = (value: unknown) => value as Readonly<Record<string, string>>[]

const service = await sharedService()
after(() => service.stop())

describe('a search over HTTP', () => {
  const get = (path: string, token: string): Promise<Answer> => service.get(`/api/v1${path}`, { token })

  it('compares letters in any case and any form of Unicode', async () => {
    const own = await ownWorkspace({ sql: service.all, urls: service.urls })
    const texts: Record<string, string> = {
      a: 'Die GRÖSSE der Schrift',
      b: 'МОСКВА ждёт',
      c: 'École fermée',
      d: '학점인정'.normalize('NFD'),
      e: 'cafe\u0301 creme',
      f: 'Rabatt 100% sofort',
      g: 'snake_case name',
      h: 'back\\slash',
      i: 'soft\u00ADhyphen zero\u200Bwidth e\u200D\u0301te\u0301',
      j: 'ﬁle upload ①',
      k: 'Ｆｕｌｌ width',
      l: 'Ο ΛΌΓΟΣ και ο τρόπος',
      m: '36 \u212Aelvin \u{E0041}tagged',
    }
    await own.submitAll(
      Object.entries(texts).map(([sourceId, description]) => ({
        operation: 'create_feedback',
        body: { description, source: 'letters', sourceId },
      })),
    )
    await untilIndexed(service.all, own.workspaceId)
    const found: [q: string, sourceIds: string][] = [
      ['grösse', 'a'],
      ['GRÖSSE'.normalize('NFD'), 'a'],
      ['москва', 'b'],
      ['ЖДЁТ', 'b'],
      ['ÉCOLE', 'c'],
      ['école'.normalize('NFD'), 'c'],
      ['학점인정', 'd'],
      ['café', 'e'],
      ['cafe crème', 'e'],
      ['grosse', 'a'],
      ['ECOLE fermee', 'c'],
      ['ждет', 'b'],
      ['100%', 'f'],
      ['snake_case', 'g'],
      ['e_c', ''],
      ['back\\slash', 'h'],
      ['softhyphen', 'i'],
      ['soft\u00ADhyphen', 'i'],
      ['zerowidth été', 'i'],
      ['file', 'j'],
      ['1', 'j'],
      ['full', 'k'],
      ['ｆull', 'k'],
      ['λόγος', 'l'],
      ['λόγοσ', 'l'],
      ['ΤΡΌΠΟΣ', 'l'],
      ['\uFEFFkelvin', 'm'],
      ['tagged', 'm'],
      ['nowhere', ''],
    ]
    for (const [q, expected] of found) {
      const answer = await get(`/feedbacks?${new URLSearchParams({ q })}`, own.readToken)
      const sourceIds = rowsOf(answer.body.feedbacks).map((each) => each['sourceId']!)
      assert.equal(sourceIds.toSorted().join(''), expected, JSON.stringify(q))
    }
  })

  it('knows forms of words, phrases and alternatives, and names words that occur nowhere', async () => {
    const own = await ownWorkspace({ sql: service.all, urls: service.urls })
    const texts = [
      { sourceId: 'a', description: 'They charged my card twice', tags: ['billing'] },
      { sourceId: 'b', description: 'The exports of all reports fail', title: 'Twice a card' },
      { sourceId: 'c', description: 'Please add SSO', tags: [] },
    ]
    const submit = () =>
      own.submitAll(texts.map((body) => ({ operation: 'create_feedback', body: { source: 'words', ...body } })))
    await submit()
    await untilIndexed(service.all, own.workspaceId)
    const search = async (q: string): Promise<string> => {
      const { body } = await get(`/feedbacks?${new URLSearchParams({ q })}`, own.readToken)
      const sourceIds = rowsOf(body.feedbacks).map((each) => each['sourceId']!)
      return sourceIds.toSorted().join('') || JSON.stringify(body['unknownWords'])
    }
    const found: [q: string, expected: string][] = [
      ['"card twice"', 'a'],
      ['card twice', 'ab'],
      ['exported report', 'b'],
      ['sso or exporting', 'bc'],
      ['login export', '["login"]'],
      ['sso export', '[]'],
    ]
    for (const [q, expected] of found) assert.equal(await search(q), expected, q)
    const { body } = await get('/counts?by=source&q=%22card+twice%22+or+sso', own.readToken)
    assert.equal(body.total.feedback, 2)
    texts[0]!.description = 'All is well'
    await submit()
    await untilIndexed(service.all, own.workspaceId)
    assert.equal(await search('charged'), '["charged"]')
  })
})
