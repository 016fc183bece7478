import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { listDueLooks, readLook } from '../../../db/alerts.ts'
import { readChanges } from '../../../db/reads/changes.ts'
import { readList } from '../../../db/reads/lists.ts'
import { lookForAlerts } from '../../../worker/alerts/look.ts'
import { tag } from '../../../worker/tagging/tagging.ts'
import { createPurgeRig, type PurgeRig } from '../../support/purge-rig.ts'
import { hashKey, sharedSchema } from '../../support/schema.ts'

const { sql } = await sharedSchema()

type Alert = {
  id: string
  subject: string
  change: string
  name?: string
  themeId?: string
  source?: string
  people: number
  expected: number
}
type Digest = { alerts: Alert[]; changes: { name?: string; people: number }[] }
type Text = { description: string; daysAgo: number; contact?: number; rating?: number }

const HOUR_MS = 3_600_000
const SUBJECTS = ['invoice', 'delivery', 'search', 'password', 'calendar', 'printer']

/** Four texts a day, each of another contact, over nine weeks. */
const USUAL = Array.from({ length: 4 * 62 }, (_, at): Text => ({
  description: `The ${SUBJECTS[at % SUBJECTS.length]!} works as number ${at} says`,
  daysAgo: 1 + Math.floor(at / 4),
  contact: at,
  rating: at % 6 === 0 ? 1 : 5,
}))
const broken = (people: number, first = 1_000): Text[] =>
  Array.from({ length: people }, (_, at) => ({
    description: `The battery is empty after ${at} hours`,
    daysAgo: 0,
    contact: first + at,
    rating: 1,
  }))

describe('the look for alerts', () => {
  const say = async (rig: PurgeRig, texts: readonly Text[]): Promise<string[]> => {
    const ids: string[] = []
    for (const { description, daysAgo, contact, rating } of texts) {
      const createdAt = new Date(Date.now() - daysAgo * 24 * HOUR_MS).toISOString()
      const who = contact === undefined ? {} : { contact: { email: `person-${contact}@example.com` } }
      ids.push(await rig.feedback({ description, createdAt, rating, source: 'App', ...who }))
    }
    const { workspaceId } = rig.realm
    for (let at = 0; at < ids.length; at += 100)
      await tag({ sql, hashKey }, { workspaceId, feedbackIds: ids.slice(at, at + 100), conversationIds: [] })
    return ids
  }
  /** Looks until all days are counted. */
  const look = async ({ realm: { workspaceId } }: PurgeRig): Promise<void> => {
    for (;;) {
      await lookForAlerts(sql, workspaceId)
      const { staleDays, looks } = (await readLook(sql, workspaceId))!
      if (staleDays.length === 0 && looks > 0) return
    }
  }
  const listOf = async <Found>({ realm: { workspaceId } }: PurgeRig, kind: 'alert' | 'digest'): Promise<Found[]> => {
    const page = { workspaceId, kind, filters: {}, after: undefined, isOldestFirst: true, limit: 50 }
    return (await readList(sql, page)).records.map((record) => JSON.parse(record) as Found)
  }
  const alertsOf = (rig: PurgeRig): Promise<Alert[]> => listOf(rig, 'alert')

  it('tells of a new theme once, and of the source whose satisfaction falls', async () => {
    const rig = await createPurgeRig(sql)
    await say(rig, USUAL)
    await look(rig)
    assert.deepEqual(await alertsOf(rig), [])
    await say(rig, broken(12))
    await look(rig)
    const alerts = await alertsOf(rig)
    const ofTheme = alerts.find(({ subject }) => subject === 'theme')!
    assert.deepEqual([ofTheme.name, ofTheme.change, ofTheme.people], ['battery', 'new', 12])
    assert.ok(ofTheme.expected < 1)
    const ofSource = alerts.find(({ subject }) => subject === 'source')!
    assert.deepEqual([ofSource.source, ofSource.change, ofSource.name], ['App', 'unhappy', undefined])
    assert.equal(new Set(alerts.map(({ subject }) => subject)).size, alerts.length, 'its tag is told as the theme')
    await say(rig, broken(5, 2_000))
    await look(rig)
    assert.equal((await alertsOf(rig)).length, alerts.length, 'what was told rests')
  })

  it('hears of no import: one contact, or many texts without one', async () => {
    const rig = await createPurgeRig(sql)
    await say(rig, USUAL)
    await say(
      rig,
      broken(30).map((text) => ({ ...text, contact: 5_000 })),
    )
    await say(
      rig,
      broken(40).map(({ contact: _, ...text }) => text),
    )
    await look(rig)
    assert.deepEqual(await alertsOf(rig), [])
  })

  it('loses an alert with its theme, and shows counts alone after a purge', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    await say(rig, USUAL)
    await say(rig, broken(12))
    await look(rig)
    const [told] = (await alertsOf(rig)).filter(({ subject }) => subject === 'theme') as [Alert]
    await rig.purge({ email: 'person-1000@example.com' })
    assert.equal((await alertsOf(rig)).find(({ id }) => id === told.id)?.people, 12)
    for (let at = 1; at < 12; at++) await rig.purge({ email: `person-${1_000 + at}@example.com` })
    assert.ok(!(await alertsOf(rig)).some(({ id }) => id === told.id))
    const page = await readChanges(sql, workspaceId, {
      after: { position: 1, passSince: undefined },
      limit: 5_000,
      mostBytes: 1e9,
    })
    const changes = page === 'expired' ? [] : page.changes
    assert.ok(changes.some(({ kind, id, record }) => kind === 'alert' && id === told.id && record === undefined))
    const words = await sql<{ row: string }[]>`
      select row_to_json(a)::text as row from alert_count as a where workspace_id = ${workspaceId}
      union all select row_to_json(a)::text from alert as a where workspace_id = ${workspaceId}
      union all select row_to_json(a)::text from digest as a where workspace_id = ${workspaceId}`
    assert.ok(words.every(({ row }) => !row.includes('battery') && !row.includes('person')))
  })

  it('makes one digest of the last week, with the greatest changes', async () => {
    const rig = await createPurgeRig(sql)
    const weekday = (new Date().getUTCDay() + 6) % 7
    await say(rig, USUAL)
    await say(
      rig,
      broken(14).map((text, at) => ({ ...text, daysAgo: weekday + 1 + (at % 7) })),
    )
    await look(rig)
    await say(rig, broken(1, 3_000))
    await look(rig)
    const digests = await listOf<Digest>(rig, 'digest')
    assert.equal(digests.length, 1)
    const [{ changes }] = digests as [Digest]
    assert.ok(changes.some(({ name, people }) => name === 'battery' && people === 14))
  })

  it('is due after 50 texts, or after an hour, and costs nothing without new texts', async () => {
    const rig = await createPurgeRig(sql)
    const { workspaceId } = rig.realm
    const isDue = async (): Promise<boolean> => (await listDueLooks(sql, 1_000)).includes(workspaceId)
    await say(rig, USUAL.slice(0, 10))
    assert.equal(await isDue(), false)
    await sql`update alert_look set due_at = '2020-01-01' where workspace_id = ${workspaceId}`
    assert.equal(await isDue(), true)
    await look(rig)
    assert.equal(await isDue(), false)
    await sql`update alert_look set looked_at = '2020-01-01' where workspace_id = ${workspaceId}`
    await say(rig, USUAL.slice(10, 70))
    assert.equal(await isDue(), true)
  })

  it('gives the same alerts when two workers look at once', async () => {
    const rig = await createPurgeRig(sql)
    await say(rig, USUAL)
    await look(rig)
    await say(rig, broken(12))
    await Promise.all([look(rig), look(rig)])
    const alerts = await alertsOf(rig)
    assert.equal(alerts.length, new Set(alerts.map(({ subject }) => subject)).size)
  })
})
