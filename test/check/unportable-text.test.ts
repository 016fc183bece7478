import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findUnportableText } from './unportable-text.ts'

// Put together here, so that this file is not found itself.
const path = (...parts: string[]): string => ['', ...parts].join('/')
const host = (...parts: string[]): string => parts.join('.')

const find = (text: string): string[] => findUnportableText([{ path: 'README.md', text }])

describe('text that is wrong on another machine', () => {
  const found = {
    'a home folder': `cd ${path('home', 'ada', 'project')}`,
    'a home folder on macOS': `"${path('Users', 'ada', 'project')}"`,
    'the home of root': `const file = '${path('root', '.cache')}'`,
    'a work folder': `see ${path('work', 'main', 'api')}`,
    'a folder for passing things': `logs in (${path('tmp', 'run-1', 'out.log')})`,
    'a registry': `https://${host('registry', 'npmjs', 'org')}/bullmq`,
    'another registry': host('npm', 'pkg', 'github', 'com'),
    'a mirror of Debian': `http://${host('deb', 'debian', 'org')}/debian`,
    'an address in the lock': ['      "resolved"', '"https://example.com/a.tgz"'].join(': '),
  }
  for (const [what, text] of Object.entries(found)) {
    it(`includes ${what}`, () => {
      assert.equal(find(text).length, 1, text)
    })
  }

  const left = {
    'an address': `https://example.com${path('home', 'ada', 'x')}`,
    'a route': `/admin${path('work', 'x')}`,
    'a folder of a container': 'tmpfs: [/tmp]',
    'a folder for passing things as such': 'join(tmpdir(), name)',
    'a home that is looked up': `$HOME${path('root', 'x')} and ~${path('work', 'x')}`,
    'words about a registry': 'the npm registry, whichever it is',
  }
  for (const [what, text] of Object.entries(left)) {
    it(`does not include ${what}`, () => {
      assert.deepEqual(find(text), [])
    })
  }

  it('is named with file, line and what it is', () => {
    const text = `fine\n${path('root', 'x')}`
    assert.deepEqual(find(text), [`README.md:2 has a path of one machine: ${path('root', 'x')}`])
  })
})
