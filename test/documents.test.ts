import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as v from 'valibot'
import { readApiConfig } from '../api/config.ts'
import { SETTINGS } from '../runtime/settings.ts'
import { readWorkerConfig } from '../worker/config.ts'
import { readManual, tableRows } from './support/readme-commands.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const manual = readManual(root)

describe('the documents', () => {
  it('have every setting with its default, and no others', () => {
    const documented = Object.fromEntries(settingRows().map(([name, value]) => [name, value]))
    const settings = Object.entries(SETTINGS).map(([name, { schema }]) => [name, defaultOf(schema)])
    assert.deepEqual(documented, { ...Object.fromEntries(settings), DATA_DIR: '.data' })
  })

  it('name the settings that the API and the worker read', () => {
    const given = { DATABASE_URL: 'postgres://h/d', REDIS_URL: 'redis://h', HASH_KEY: '0'.repeat(64) }
    const readBy = (reader: string): string[] =>
      settingRows().flatMap(([name = '', , , processes = '']) => (processes.split(', ').includes(reader) ? [name] : []))
    assert.deepEqual(readBy('API').toSorted(), Object.keys(readApiConfig(given)).toSorted())
    assert.deepEqual(readBy('worker').toSorted(), Object.keys(readWorkerConfig(given)).toSorted())
  })

  it('have every variable of the Compose file with its default, and no others', () => {
    const compose = readFileSync(join(root, 'compose.yaml'), 'utf8')
    const used = [...compose.matchAll(/\$\{(\w+):([-?])([^}]*)\}/g)].map(([, name, mark, rest]) => [
      name,
      mark === '?' ? 'required' : rest,
    ])
    const documented = tableRows(partOf('docs/environment.md', '## Compose'), 'Variable').map(([name, value]) => [
      name,
      value,
    ])
    assert.deepEqual(Object.fromEntries(documented), Object.fromEntries(used))
  })

  const settingRows = (): string[][] => tableRows(partOf('docs/environment.md', '## The service'), 'Variable')
})

const partOf = (path: string, heading: string): string => {
  const { text = '' } = manual.find((document) => document.path === path) ?? {}
  const begin = text.indexOf(`\n${heading}`)
  const end = text.indexOf('\n## ', begin + 1)
  assert.notEqual(begin, -1, heading)
  return text.slice(begin, end === -1 ? undefined : end)
}

const defaultOf = (schema: v.GenericSchema): string => {
  if ('default' in schema && typeof schema.default === 'string') return schema.default
  return v.safeParse(schema, undefined).success ? 'not set' : 'required'
}
