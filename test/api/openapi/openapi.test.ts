import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { isJsonObject, type JsonValue } from '../../../contract/json.ts'
import { document, objectsIn, operations, resolve, resolved } from './openapi-document.ts'

describe('the OpenAPI document', () => {
  it('equals the committed file, which npm run openapi writes', async () => {
    const committed: unknown = JSON.parse(
      await readFile(new URL('../../../api/openapi/openapi.json', import.meta.url), 'utf8'),
    )
    assert.deepEqual(committed, document)
  })

  it('has servers without a trailing slash, since the paths begin with one', () => {
    for (const { url } of document['servers'] as { url: string }[]) assert.doesNotMatch(url, /\/$/)
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
      // An object at `/properties` maps names to schemas, and `properties` can be one of the names.
      if (!isJsonObject(properties) || path.endsWith('/properties')) continue
      for (const [name, member] of Object.entries(properties)) assertDescribed(member, `${path}.${name}`)
    }
    for (const part of [schemas, headers, parameters, responses]) {
      for (const [name, described] of Object.entries(part)) assertDescribed(described, name)
    }
    for (const { operation, path } of operations) {
      for (const parameter of operation.parameters ?? []) {
        assertDescribed(resolved(parameter), `${path} ${JSON.stringify(parameter)}`)
      }
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

  it('opens with the first request, and ends with the answers of the runtime', () => {
    const info = document['info']
    assert.ok(isJsonObject(info) && typeof info['description'] === 'string')
    const [first] = Object.keys(document.paths)
    const notes = [...info['description'].matchAll(/<summary>(.+)<\/summary>/g)].map(([, title]) => title)
    assert.ok(info['description'].indexOf(`$FEEDBACK_URL${first}`) < info['description'].indexOf('<summary>'))
    assert.equal(notes.at(-1), 'Answers of the runtime')
  })

  it('names no host, except in examples', () => {
    assert.doesNotMatch(JSON.stringify(document).replaceAll(/https:\/\/\w+\.example\//g, ''), /https?:\/\//)
  })
})
