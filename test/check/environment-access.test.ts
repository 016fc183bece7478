import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findEnvironmentAccess } from './environment-access.ts'

const find = (path: string, text: string): string[] => findEnvironmentAccess([{ path, text }])

describe('reading the environment', () => {
  const forms = [
    `const port = process.env['PORT']`,
    `const port = process.env.PORT`,
    `const port = globalThis.process?.env['PORT']`,
    `const port = process['env'].PORT`,
    `const port = Bun.env.PORT`,
    `const port = Deno.env.get('PORT')`,
    `const port = import.meta.env.PORT`,
    `const { env } = process`,
    `const { argv, env: given } = process`,
    `import { argv, env } from 'node:process'`,
  ]
  for (const form of forms) {
    it(`is found in: ${form}`, () => {
      assert.deepEqual(find('api/app.ts', `\n${form}\n`), [
        'api/app.ts:2 reads the environment, which is read once in the configuration',
      ])
    })
  }

  for (const path of [
    'cli/start/start.ts',
    'api/main.ts',
    'api/config.ts',
    'worker/worker-config.ts',
    'cli/migrate-command.ts',
    'test/run.ts',
    'test/support/servers.ts',
  ]) {
    it(`is fine in ${path}`, () => {
      assert.deepEqual(find(path, `process.env['PORT']`), [])
    })
  }

  for (const path of ['api/domain.ts', 'db/restart.ts', 'api/configure.ts', 'worker/latest/test.ts']) {
    it(`is found in ${path}`, () => {
      assert.equal(find(path, `process.env['PORT']`).length, 1)
    })
  }

  it('is not what a comment does, nor something of another name', () => {
    assert.deepEqual(find('api/app.ts', `// process.env is read in config.ts\nconst a = { env: process.pid }`), [])
    assert.deepEqual(find('api/app.ts', `const a = process.environment`), [])
  })
})
