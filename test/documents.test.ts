import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as v from 'valibot'
import { readApiConfig } from '../api/config.ts'
import { SETTINGS } from '../runtime/settings.ts'
import { readWorkerConfig } from '../worker/config.ts'
import { readSourceFiles } from '../tools/source-files.ts'
import { readManual } from './support/documents.ts'
import { readmeCommands, tableRows } from './support/readme-commands.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const manual = readManual(root)
const commands = manual.flatMap(({ text }) => readmeCommands(text))

describe('the documents', () => {
  it('have every setting with its default, and no others', () => {
    const documented = Object.fromEntries(settingRows().map(([name, value]) => [name, value]))
    const settings = Object.entries(SETTINGS).map(([name, { schema }]) => [name, defaultOf(schema)])
    assert.deepEqual(documented, { ...Object.fromEntries(settings), DATA_DIR: '.data' })
  })

  it('name the processes that read a setting', () => {
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

  it('name only commands that a test runs', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const named = new Set(
      manual.flatMap(({ text }) =>
        [...text.matchAll(/\bnpm (?:run )?(?:--silent )?([a-z][a-z:]*)/g)].map(([, name = '']) => name),
      ),
    )
    const tests = readSourceFiles(root).filter(
      ({ path }) => path.endsWith('.test.ts') && !path.endsWith('/help.test.ts'),
    )
    const isRun = (name: string): boolean => {
      const [program = ''] = /\S+\.ts\b/.exec(scripts[name] ?? '') ?? []
      const isShown = commands.some(({ command }) => new RegExp(`^npm (?:run )?${name}\\b`, 'm').test(command))
      return (
        isShown || tests.some(({ text }) => text.includes(`'${program}'`) || text.includes(`/${basename(program)}'`))
      )
    }
    // These commands run the tests and the checks. The commands of docs/tags.md measure for minutes
    // or write files of the repository.
    const exempt = ['test', 'test:long', 'check', 'fix', 'bench:tags', 'fit:tags', 'tags:examples']
    const others = [...named].filter((name) => !exempt.includes(name))
    assert.deepEqual(
      others.filter((name) => name in scripts && !isRun(name)),
      [],
    )
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
