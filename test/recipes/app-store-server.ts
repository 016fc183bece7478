import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { generateKeyPairSync, verify } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serveHttp } from '../support/http-server.ts'
import type { SharedService } from '../support/shared-service.ts'
import { type Runtime, spawnRecipe } from './running-recipe.ts'

type Run = { readonly directory: string; readonly runtime: Runtime; readonly service: SharedService }

/**
 * Runs app-store.ts against a store with one review a page. Returns the paths that the recipe has
 * requested. The store checks that each token has the form of Apple's documentation, and answers
 * 401 if the signature is wrong.
 */
export const fetchReviews = async (
  reviews: readonly unknown[],
  { directory, runtime, service }: Run,
): Promise<string[]> => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keyFile = join(directory, 'AuthKey.p8')
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const isSigned = (authorization: string): boolean => {
    const [head = '', claims = '', signature = ''] = authorization.slice('Bearer '.length).split('.')
    const key = { key: publicKey, dsaEncoding: 'ieee-p1363' as const }
    const { aud, iss, exp, iat } = JSON.parse(Buffer.from(claims, 'base64url').toString())
    const { alg, kid } = JSON.parse(Buffer.from(head, 'base64url').toString())
    assert.deepEqual([aud, iss, alg, kid, exp - iat <= 20 * 60], ['appstoreconnect-v1', 'issuer', 'ES256', 'key', true])
    return verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url'))
  }
  const asked: string[] = []
  const { url: address, stop } = await serveHttp((request, response) => {
    asked.push(request.url ?? '')
    const page = asked.length
    const next = page < reviews.length && `${address}/v1/apps/682658836/customerReviews?cursor=${page + 1}`
    const links = { self: request.url, ...(next && { next }) }
    const status = isSigned(request.headers.authorization ?? '') ? 200 : 401
    response.writeHead(status).end(JSON.stringify({ data: [reviews[page - 1]], links }))
  })
  const child = spawnRecipe('app-store.ts', {
    directory,
    runtime,
    environment: {
      FEEDBACK_URL: service.urls[0]!,
      ACCESS_TOKEN: service.accessToken,
      APP_ID: '682658836',
      ISSUER_ID: 'issuer',
      KEY_ID: 'key',
      KEY_FILE: keyFile,
      LOOK_BACK_DAYS: '99999',
      APP_STORE_URL: address,
    },
  })
  const [code] = (await once(child, 'exit')) as [number]
  stop()
  assert.equal(code, 0)
  return asked
}
