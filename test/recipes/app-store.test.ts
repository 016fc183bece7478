import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { generateKeyPairSync, verify } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { installRecipes, spawnRecipe } from './running-recipe.ts'
import { feedbackRow } from './stored-rows.ts'

/** https://developer.apple.com/documentation/appstoreconnectapi/get-v1-apps-_id_-customerreviews */
const APP_STORE_REVIEW = {
  type: 'customerReviews',
  id: '00000028-b08c-0014-729e-fbd500000000',
  attributes: {
    rating: 5,
    title: 'Awesome!!!',
    body: "It's a really fantastic app!",
    reviewerNickname: 'Anne Johnson',
    createdDate: '2017-11-15T08:10:34-08:00',
    territory: 'USA',
  },
}

/** https://developer.apple.com/documentation/appstoreconnectapi/get-v1-appstoreversions-_id_-customerreviews */
const ANOTHER_APP_STORE_REVIEW = {
  type: 'customerReviews',
  id: '00000028-b08c-0014-9674-c54800000000',
  attributes: {
    rating: 5,
    title: 'Pretty Stellar',
    body: 'I love how creative I can be when I use this app. I can really explore the depths of my imagination!',
    reviewerNickname: 'Juan Chavez',
    createdDate: '2024-01-02T11:19:36-07:00',
    territory: 'USA',
  },
}

describe('the recipe for an app store', () => {
  const directory = temporaryDirectory()
  let service: SharedService
  before(async () => {
    service = await sharedService()
    await installRecipes(directory)
  })
  after(() => service?.stop())

  for (const runtime of ['Bun', 'Deno'] as const) {
    it(`app-store.ts on ${runtime} submits the reviews that the documentation shows, page by page`, async () => {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const keyFile = join(directory, 'AuthKey.p8')
      writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }))
      const asked: string[] = []
      const store = createServer((request, response) => {
        const [head = '', claims = '', signature = ''] = (request.headers.authorization ?? '')
          .slice('Bearer '.length)
          .split('.')
        const key = { key: publicKey, dsaEncoding: 'ieee-p1363' as const }
        const isSigned = verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url'))
        const { aud, iss, exp, iat } = JSON.parse(Buffer.from(claims, 'base64url').toString())
        const { alg, kid } = JSON.parse(Buffer.from(head, 'base64url').toString())
        assert.deepEqual(
          [aud, iss, alg, kid, exp - iat <= 20 * 60],
          ['appstoreconnect-v1', 'issuer', 'ES256', 'key', true],
        )
        asked.push(request.url ?? '')
        const isFirst = asked.length === 1
        const page = {
          data: [isFirst ? ANOTHER_APP_STORE_REVIEW : APP_STORE_REVIEW],
          links: {
            self: request.url,
            ...(isFirst && { next: `${address}/v1/apps/682658836/customerReviews?cursor=2` }),
          },
        }
        response.writeHead(isSigned ? 200 : 401).end(JSON.stringify(page))
      })
      await once(store.listen(0, '127.0.0.1'), 'listening')
      const address = `http://127.0.0.1:${(store.address() as AddressInfo).port}`
      const given = {
        APP_ID: '682658836',
        ISSUER_ID: 'issuer',
        KEY_ID: 'key',
        KEY_FILE: keyFile,
        LOOK_BACK_DAYS: '99999',
      }
      const child = spawnRecipe('app-store.ts', {
        directory,
        runtime,
        environment: {
          FEEDBACK_URL: service.urls[0]!,
          ACCESS_TOKEN: service.accessToken,
          ...given,
          APP_STORE_URL: address,
        },
      })
      const [code] = (await once(child, 'exit')) as [number]
      store.close()
      assert.equal(code, 0)
      assert.deepEqual(asked, [
        '/v1/apps/682658836/customerReviews?sort=-createdDate&limit=200',
        '/v1/apps/682658836/customerReviews?cursor=2',
      ])
      const {
        source_data: data,
        created_at: at,
        ...review
      } = await feedbackRow(service, 'app-store', APP_STORE_REVIEW.id)
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
