import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { seeded } from '../support/property-seed.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { fetchReviews } from './app-store-server.ts'
import { type Delivery, makeDeliveries, type Random, type Vendor, wordsIn } from './made-deliveries.ts'
import { installRecipes, settingsOf, startReceiver } from './running-recipe.ts'
import { SIGNS } from './vendor-signs.ts'

const RUNS = 4
const SIGNING = ['segment', 'zendesk', 'intercom', 'typeform'] as const

/** The stored rows without own ids and times of acceptance, which differ between workspaces. */
const STORED = `
  with people as (
    select contact.id, contact.name, email, properties, account_id, source_created_at, source_updated_at,
      (select string_agg(source || ' ' || external_id, ',' order by source, external_id)
        from contact_external_id where contact_id = contact.id) as ids
    from contact
  ), companies as (
    select account.id, name, domain, properties, source_created_at, source_updated_at,
      (select string_agg(external_id, ',' order by external_id) from account_external_id where account_id = account.id) as ids
    from account
  ), named as (select id, coalesce(ids, email, name) as name from people)
  select kind || ' ' || row as row from (
    select 'contact' as kind, jsonb_build_array(ids, name, email, properties, source_created_at, source_updated_at,
      (select coalesce(ids, name) from companies where companies.id = account_id))::text as row from people
    union all
    select 'account', jsonb_build_array(ids, name, domain, properties, source_created_at, source_updated_at)::text from companies
    union all
    select 'feedback', jsonb_build_array(source, source_id, description, title, rating, source_data, source_created_at,
      (select name from named where named.id = contact_id), (select coalesce(ids, name) from companies where companies.id = account_id))::text
    from feedback
    union all
    select 'conversation', jsonb_build_array(external_id, title, rating, properties, created_at, updated_at,
      (select array_agg(name order by name) from conversation_contact join named on named.id = contact_id
        where conversation_id = conversation.id))::text
    from conversation
    union all
    select 'message', jsonb_build_array((select external_id from conversation where id = conversation_id), external_id, incoming,
      content, created_at, (select name from named where named.id = contact_id))::text
    from message
  ) as stored order by 1`

/** Seeded random numbers, from 0 to below 1. */
const randomOf = (seed: number): Random => {
  let count = 0
  return () => createHash('sha256').update(`${seed} ${count++}`).digest().readUInt32BE() / 2 ** 32
}

const shuffled = <T>(items: readonly T[], random: Random): T[] =>
  items
    .map((item) => ({ item, place: random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item)

describe('deliveries in any order', () => {
  const directory = temporaryDirectory()
  const secret = randomBytes(20).toString('hex')
  const running = new AsyncDisposableStack()
  const sites: { service: SharedService; urls: Map<Vendor, string> }[] = []
  before(async () => {
    await installRecipes(directory)
    for (const _ of ['in order', 'in any order']) {
      const service = await sharedService()
      running.defer(service.stop)
      const urls = new Map<Vendor, string>()
      const run = { directory, runtime: 'Bun', environment: settingsOf(service, secret) } as const
      for (const vendor of SIGNING) {
        urls.set(vendor, running.use(await startReceiver(`${vendor}.ts`, run)).url)
      }
      sites.push({ service, urls })
    }
  })
  after(() => running.disposeAsync())

  const deliver = async (at: number, deliveries: readonly Delivery[]): Promise<string[]> => {
    const { service, urls } = sites[at]!
    for (const { vendor, payload } of deliveries) {
      if (vendor === 'app-store') continue
      const body = JSON.stringify(payload)
      const invocation = createHash('sha256').update(body).digest('hex')
      const headers = { ...SIGNS[vendor]!(body, secret), 'x-zendesk-webhook-invocation-id': invocation }
      const answer = await fetch(urls.get(vendor)!, { method: 'POST', headers, body })
      assert.equal(answer.status, 200, `${vendor} answered ${await answer.text()} to ${body}`)
    }
    const reviews = deliveries.filter(({ vendor }) => vendor === 'app-store').map(({ payload }) => payload)
    await fetchReviews(reviews, { directory, runtime: 'Bun', service })
    // Once this submission is applied, all earlier submissions are applied, too.
    await service.submit('/feedbacks', { description: 'the end', source: 'end', sourceId: 'end' })
    return (await service.sql.unsafe<{ row: string }[]>(STORED)).map(({ row }) => row)
  }

  it('store the same rows, even if each comes twice and parts are missing, and lose no words of people', async () => {
    let round = 0
    const property = fc.asyncProperty(fc.nat(), async (seed) => {
      const random = randomOf(seed)
      const deliveries = makeDeliveries(round++, random)
      const inOrder = await deliver(0, deliveries)
      const inAnyOrder = await deliver(1, shuffled([...deliveries, ...deliveries], random))
      assert.deepEqual(inAnyOrder, inOrder)
      const text = inOrder.join('\n')
      for (const words of deliveries.flatMap(wordsIn))
        assert.ok(text.includes(JSON.stringify(words).slice(1, -1)), words)
    })
    await fc.assert(property, seeded({ numRuns: RUNS, endOnFailure: true }))
  })
})
