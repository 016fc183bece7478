import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { isJsonObject, type JsonValue } from '../../../contract/json.ts'
import { appWithoutStores } from '../../support/app-without-stores.ts'
import { document, objectsIn, operations, resolve, resolved } from './openapi-document.ts'

describe('the OpenAPI document', () => {
  it('is the one that is committed (npm run openapi writes it)', async () => {
    const committed: unknown = JSON.parse(
      await readFile(new URL('../../../api/openapi/openapi.json', import.meta.url), 'utf8'),
    )
    assert.deepEqual(committed, document)
  })

  it('has a target for each reference, and a reference to each component', () => {
    const refs = new Set<string>()
    for (const [, { $ref }] of objectsIn(document)) {
      if (typeof $ref !== 'string') continue
      resolve($ref)
      refs.add($ref)
    }
    const { securitySchemes: _, ...components } = document.components
    const named = Object.entries(components).flatMap(([kind, entries]) =>
      Object.keys(entries).map((name) => `#/components/${kind}/${name}`),
    )
    assert.deepEqual(named.toSorted(), [...refs].toSorted())
  })

  it('describes every member of every schema, every parameter, header and answer', () => {
    const { schemas = {}, headers = {}, parameters = {}, responses = {} } = document.components
    for (const [path, { properties }] of objectsIn(schemas)) {
      // A member can have this name, but then it is a schema without members.
      if (!isJsonObject(properties) || path.endsWith('/properties') || path.includes('/anyOf/')) continue
      for (const [name, member] of Object.entries(properties)) assertDescribed(member, `${path}.${name}`)
    }
    for (const part of [schemas, headers, parameters, responses]) {
      for (const [name, described] of Object.entries(part)) assertDescribed(described, name)
    }
    for (const { operation, path } of operations) {
      for (const [status, answer] of Object.entries(operation.responses)) {
        assertDescribed(resolved(answer), `${path} ${status}`)
      }
    }
  })

  const assertDescribed = (described: JsonValue, where: string): void => {
    const description = isJsonObject(described) ? described['description'] : undefined
    assert.ok(
      typeof description === 'string' && description.trim().length > 3,
      `${where} has no description: write one beside it`,
    )
  }

  it('names no host', () => {
    assert.doesNotMatch(JSON.stringify(document).replaceAll(/https:\/\/\w+\.example\//g, ''), /https?:\/\//)
  })
})

describe('the service', () => {
  const app = appWithoutStores()
  const ask = (path: string, method = 'GET'): Promise<Response> =>
    app.handle(new Request(`http://localhost${path}`, { method }))

  it('serves the document without a token', async () => {
    for (let times = 0; times < 2; times++) {
      const response = await ask('/openapi.json')
      assert.equal(response.status, 200)
      assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
      assert.ok(response.headers.get('x-request-id'))
      assert.deepEqual(await response.json(), document)
    }
  })

  it('has every path of the document, and refuses requests without a token there', async () => {
    for (const { at, method, operation } of operations) {
      const { status, headers } = await ask(at.replace('{id}', '019b1c6e-0f3a-7c52-8d4e-6a2b9f1c7d35'), method)
      const isOpen = operation.security?.length === 0
      assert.equal(status, isOpen ? 200 : 401, at)
      assert.equal(headers.has('www-authenticate'), !isOpen)
      const { get, post } = document.paths[at]!
      const allowed = [...(get ? ['GET'] : []), ...(post ? ['POST'] : [])]
      assert.equal((await ask(at, 'PUT')).headers.get('allow'), allowed.join(', '), at)
    }
  })
})
