import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Client, createClient, each as eachOf, followChanges } from '../../client/client.ts'
import type { Service } from '../support/service.ts'
import { operatedService } from '../support/shared-service.ts'

describe('the client, as it reads', () => {
  let service: Service
  let client: Client
  let admin: Client
  before(async () => {
    service = await operatedService()
    const url = service.urls[0]!
    client = createClient({ url, token: service.accessToken })
    admin = createClient({ url, token: service.adminToken })
  })
  after(() => service?.stop())

  it('counts feedback, and sets the scale of a source', async () => {
    const source = 'Counted / all'
    for (const [at, tags] of [['a', 'b'], ['a'], []].entries())
      await client.createFeedback({ description: 'x', source, rating: at * 5, tags }, { waitSeconds: 20 })
    const { scale, feedback, link } = await admin.putSource(source, { scale: [0, 10] })
    assert.deepEqual([scale, feedback, link], [[0, 10], 3, null])
    const { sources } = await admin.listSources({ limit: 500 })
    assert.ok(sources.some((each) => each.source === source && each.isScaleGiven))
    const { total, counts } = await admin.countFeedback({ by: ['source', 'tag'], source, order: 'key' })
    assert.deepEqual(total, { feedback: 3, rated: 3, satisfaction: 0.5, bad: 0.3333 })
    assert.equal(counts.length, 3)
    const walked: string[] = []
    for await (const { tag } of eachOf(admin.countFeedback, { by: 'tag', source, limit: 1 })) walked.push(tag ?? '-')
    assert.deepEqual(walked.toSorted(), ['-', 'a', 'b'])
    await assert.rejects(client.putSource(source, {}), { status: 403 })
  })

  it('filters and counts feedback by a declared field', async () => {
    const source = 'Fielded'
    for (const plan of ['trial', 'paid', 'trial'])
      await client.createFeedback({ description: plan, source, sourceData: { plan }, tags: [] }, { waitSeconds: 20 })
    const { fields } = await admin.putSource(source, { fields: [{ name: 'tariff', path: 'plan', of: 'feedback' }] })
    assert.equal(fields[0]?.name, 'tariff')
    const { feedbacks } = await admin.listFeedbacks({ 'field.tariff': 'trial' })
    assert.deepEqual(
      feedbacks.map(({ description, fields: values }) => [description, values]),
      [1, 2].map(() => ['trial', { tariff: 'trial' }]),
    )
    const { counts } = await admin.countFeedback({ by: 'field.tariff', source })
    assert.deepEqual(
      counts.map((group) => [group['field.tariff'], group.feedback]),
      [
        ['trial', 2],
        ['paid', 1],
      ],
    )
  })

  it('walks through all pages of a list, and follows the feed', async () => {
    const source = 'walked'
    for (const description of ['one', 'two', 'three']) await client.createFeedback({ description, source, tags: [] })
    await client.createFeedback({ description: 'four', source, tags: [] }, { waitSeconds: 20 })
    const listed: string[] = []
    for await (const { description } of eachOf(admin.listFeedbacks, { source, limit: 3, order: 'oldest' }))
      listed.push(description)
    assert.deepEqual(listed, ['one', 'two', 'three', 'four'])
    const texts: (string | undefined)[] = []
    const positions: number[] = []
    for await (const { changes } of followChanges(admin, { limit: 2 })) {
      positions.push(...changes.map(({ position }) => position))
      for (const change of changes) if (change.kind === 'feedback') texts.push(change.record?.description)
      // Tagging changes the order of the records in the feed.
      if (listed.every((text) => texts.includes(text))) break
    }
    assert.deepEqual(
      positions,
      [...new Set(positions)].toSorted((one, other) => one - other),
    )
  })
})
