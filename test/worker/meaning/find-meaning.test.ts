import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { moveLike, readExamples, readLike } from '../../../db/tags/place-like.ts'
import { themeCell } from '../../../meaning/cells.ts'
import { fitExamples } from '../../../meaning/place-like.ts'
import { BATTERY, meaningOf } from '../../support/meaning-of.ts'
import { createPurgeRig } from '../../support/purge-rig.ts'
import { sharedSchema } from '../../support/schema.ts'

const { sql } = await sharedSchema()
const { submit, tagAll, read, correct } = meaningOf(sql)

const INVOICES = ['March', 'April', 'May', 'June', 'July', 'August'].map(
  (month) => `I love how quickly the invoice of ${month} arrived!`,
)

const CHARGED = 'I was charged twice for my order and no one answers my letters about it.'

describe('the meaning of texts', () => {
  it('are themes that tags open, and moods, which stay when more texts come', async () => {
    const rig = await createPurgeRig(sql)
    const ids = await submit(rig, [...BATTERY, ...INVOICES])
    const found = await read(rig)
    const themes = ids.map((id) => found.get(id)?.theme)
    assert.deepEqual(new Set(themes.slice(0, BATTERY.length)), new Set(['battery']))
    assert.deepEqual(new Set(themes.slice(BATTERY.length)), new Set(['invoice']))
    for (const id of ids.slice(0, BATTERY.length)) assert.ok(found.get(id)!.mood! < 0)
    for (const id of ids.slice(BATTERY.length)) assert.ok(found.get(id)!.mood! > 0)
    await submit(
      rig,
      Array.from({ length: 30 }, (_, at) => `The invoice number ${at} has a battery of errors`),
    )
    await tagAll(rig, true)
    const later = await read(rig)
    assert.deepEqual(
      ids.map((id) => later.get(id)?.theme),
      themes,
    )
  })

  it('have one theme for words of one meaning, also in a later job', async () => {
    const rig = await createPurgeRig(sql)
    await submit(rig, ['The luggage was lost in Rome.', 'Where is the luggage from Oslo?', 'My luggage arrived wet.'])
    const ids = await submit(rig, ['Our bag has a hole.', 'The bag came three days late.', 'My bag never came.'])
    const found = await read(rig)
    for (const id of ids) assert.deepEqual([found.get(id)?.theme, found.get(id)?.theme_by], ['luggage', 'tag'])
  })

  it('are set by a person, and found again when the person takes it back', async () => {
    const rig = await createPurgeRig(sql)
    const [first, ...ids] = await submit(rig, [...BATTERY, ...INVOICES])
    const before = (await read(rig)).get(first!)!
    const theme = await rig.apply(rig.make('create_theme', { name: 'Power', feedbackIds: [first!] }))
    await correct(rig, first!, { kind: 'question' })
    const [set, others] = [(await read(rig)).get(first!)!, await read(rig)]
    assert.deepEqual([set.theme, set.theme_by, set.kind], ['Power', 'person', 'question'])
    assert.ok(ids.every((id) => others.get(id)?.theme !== 'Power'))
    await rig.apply(rig.make('edit_theme', { id: theme, removedFeedbackIds: [first!] }))
    await correct(rig, first!, { kind: null })
    // By the seed of the workspace, the text may be nearly the same as the next one.
    assert.deepEqual({ ...(await read(rig)).get(first!), similar_id: before.similar_id }, before)
  })

  it('have a theme whose name stays when the source sends its only text again', async () => {
    const rig = await createPurgeRig(sql)
    const sent = { source: 'Mail', sourceId: '1', rating: 1 }
    await rig.identify({ id: 'a', properties: {} })
    await submit(rig, BATTERY.slice(1), { contactId: 'a', isExternalContactId: true })
    await submit(rig, BATTERY.slice(0, 1), sent)
    await rig.purge({ id: 'a' })
    const named = async (): Promise<unknown[]> => [...(await read(rig)).values()].map(({ theme }) => theme)
    assert.deepEqual(await named(), ['battery'])
    await submit(rig, BATTERY.slice(0, 1), { ...sent, rating: 2 })
    assert.deepEqual(await named(), ['battery'])
  })

  it('move to themes of people by the command alone, if they were placed by likeness', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    const ids = await submit(rig, [...BATTERY, ...INVOICES])
    await sql`update feedback set theme_by = 'likeness' where workspace_id = ${workspaceId}`
    const [power, bills] = [ids.slice(0, 3), ids.slice(BATTERY.length, BATTERY.length + 3)]
    await rig.apply(rig.make('create_theme', { name: 'Power', feedbackIds: power }))
    await rig.apply(rig.make('create_theme', { name: 'Bills', feedbackIds: bills }))
    await tagAll(rig)
    const placeLike = fitExamples(await readExamples(sql, workspaceId))!
    let moved = 0
    for await (const page of readLike(sql, workspaceId))
      moved += await moveLike(
        sql,
        workspaceId,
        page.map(({ id, terms }) => {
          const { theme } = placeLike(terms)
          return { id, theme, cell: themeCell({ theme, by: 'likeness' }) }
        }),
      )
    assert.equal(moved, BATTERY.length + INVOICES.length - 6)
    const found = await read(rig)
    assert.deepEqual(
      ids.map((id) => found.get(id)?.theme),
      [...BATTERY.map(() => 'Power'), ...INVOICES.map(() => 'Bills')],
    )
  })

  it('have an id that nearly the same texts share, as long as there are two', async () => {
    const rig = await createPurgeRig(sql)
    await rig.identify({ id: 'a', properties: {} })
    const more = { contactId: 'a', isExternalContactId: true }
    const [one] = await submit(rig, [CHARGED, 'Something else entirely'], {})
    const [other] = await submit(rig, [CHARGED.replace('letters', 'letter').toUpperCase()], more)
    const found = await read(rig)
    assert.ok(found.get(one!)?.similar_id)
    assert.equal(found.get(one!)?.similar_id, found.get(other!)?.similar_id)
    assert.equal([...found.values()].filter(({ similar_id }) => similar_id !== null).length, 2)
    await rig.purge({ id: 'a' })
    assert.equal((await read(rig)).get(one!)?.similar_id, null)
  })

  it('stay after an undone correction, if they were found during the correction', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    const [late, early, plain] = await submit(rig, ['My zeppelin leaks', 'A zeppelin landed', 'One zeppelin is loud'], {
      tags: [],
    })
    const ids = [late!, early!, plain!]
    /** Gives the texts the theme of another text, as the tagger (`place_waiting`) or `npm run theme -- place` does. */
    const give = async (how: 'place_waiting' | 'move_like', like: string): Promise<void> => {
      const [theme] = await sql<[{ number: number }]>`
        select t.number from theme as t join feedback as f on f.workspace_id = t.workspace_id and f.theme_id = t.id
        where f.workspace_id = ${workspaceId} and f.id = ${like}`
      const cell = themeCell({ theme: theme.number, by: 'likeness' })
      const given = ids.map((id) => ({ id, theme: theme.number, theme_cell: cell, cell }))
      await sql`select ${sql.unsafe(how)}(${workspaceId}, ${sql.json(given)})`
    }
    const themes = async (): Promise<unknown[]> => {
      const found = await read(rig)
      return ids.map((id) => [found.get(id)?.theme, found.get(id)?.theme_by])
    }
    const [battery] = await submit(rig, BATTERY)
    const [invoice] = await submit(rig, INVOICES)
    for (const [how, like, name] of [
      ['place_waiting', battery!, 'battery'],
      ['move_like', invoice!, 'invoice'],
    ] as const) {
      await correct(rig, late!, { isHidden: true })
      await correct(rig, early!, { rating: 2 })
      await give(how, like)
      await correct(rig, late!, { isHidden: null })
      await correct(rig, early!, { rating: null })
      assert.deepEqual(
        await themes(),
        ids.map(() => [name, 'likeness']),
      )
    }
  })
})
