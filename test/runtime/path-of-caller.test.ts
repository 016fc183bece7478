import assert from 'node:assert/strict'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { pathOfCaller } from '../../runtime/path-of-caller.ts'

const OURS = { npm_package_name: 'feedback-insights' }

describe('the path of a file that the caller named', () => {
  for (const [what, environment, expected] of [
    [
      'npm runs a script of this package',
      { ...OURS, INIT_CWD: '/folder', npm_config_local_prefix: '/package' },
      '/folder/f',
    ],
    ['Bun runs a script of this package', { ...OURS, npm_config_local_prefix: '/folder' }, '/folder/f'],
    [
      'a script of another package runs a command',
      { npm_package_name: 'theirs', INIT_CWD: '/folder' },
      join(process.cwd(), 'f'),
    ],
    ['a shell runs a command', {}, join(process.cwd(), 'f')],
  ] as const)
    it(`is right when ${what}`, () => {
      assert.deepEqual([pathOfCaller('f', environment), pathOfCaller('/f', environment)], [expected, '/f'])
    })
})
