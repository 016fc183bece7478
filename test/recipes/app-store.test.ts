import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { fetchReviews } from './app-store-server.ts'
import documented from './documented-payloads.json' with { type: 'json' }
import { installRecipes } from './running-recipe.ts'
import { feedbackRow } from './stored-rows.ts'

describe('the recipe for an app store', () => {
  const directory = temporaryDirectory()
  let service: SharedService
  before(async () => {
    service = await sharedService()
    await installRecipes(directory)
  })
  after(() => service?.stop())

  for (const runtime of ['Bun', 'Deno'] as const) {
    it(`app-store.ts on ${runtime} submits the documented reviews, page by page`, async () => {
      const asked = await fetchReviews([documented.ANOTHER_APP_STORE_REVIEW, documented.APP_STORE_REVIEW], {
        directory,
        runtime,
        service,
      })
      assert.deepEqual(asked, [
        '/v1/apps/682658836/customerReviews?sort=-createdDate&limit=200',
        '/v1/apps/682658836/customerReviews?cursor=2',
      ])
      const {
        source_data: data,
        created_at: at,
        ...review
      } = await feedbackRow(service, 'app-store', documented.APP_STORE_REVIEW.id)
      assert.deepEqual(review, {
        description: "It's a really fantastic app!",
        title: 'Awesome!!!',
        rating: 5,
        account: null,
        contact: 'Anne Johnson',
      })
      assert.deepEqual(data, { app: '682658836', territory: 'USA' })
      assert.equal((at as Date).toISOString(), '2017-11-15T16:10:34.000Z')
    })
  }
})
