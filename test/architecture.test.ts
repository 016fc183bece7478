import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { findImportViolations } from './check/import-rule.ts'
import { findReadmeFaults, readFolders } from './check/room-readmes.ts'
import { readSourceFiles, type SourceFile } from './check/source-files.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Files that exist only here: each path with its text. */
const house = (texts: Record<string, string>): SourceFile[] =>
  Object.entries(texts).map(([path, text]) => ({ path, text }))

describe('the house', () => {
  it('keeps the import rule', () => {
    const files = readSourceFiles(root)
    assert.ok(files.some(({ path }) => path === 'test/architecture.test.ts'))
    assert.deepEqual(findImportViolations(files), [])
  })

  it('has a README.md in every room, which says what the room is and what is in it', () => {
    assert.deepEqual(findReadmeFaults(readFolders(root)), [])
  })

  it('has no drawer for things without a name', () => {
    const names = /^(?:utils?|helpers?|common|misc|shared|index)$/
    const drawers = readSourceFiles(root).filter(({ path }) =>
      path.split('/').some((part) => names.test(basename(part, '.ts'))),
    )
    assert.deepEqual(
      drawers.map(({ path }) => path),
      [],
    )
  })
})

describe('the import rule', () => {
  const allowed: Record<string, [path: string, text: string]> = {
    'every process to the contract': ['process/log.ts', `import type { Json } from '../contract/json.ts'`],
    'the queue to what every process needs': [
      'queue/redis.ts',
      `import { withinTime } from '../process/within-time.ts'`,
    ],
    'the API to the contract': ['api/feedbacks.ts', `import { feedback } from '../contract/feedback.ts'`],
    'the API to the database': ['api/receipts.ts', `import { findReceipt } from '../db/receipts.ts'`],
    'the API to the queue': ['api/submit.ts', `import type { Admit } from '../queue/admission.ts'`],
    'a worker to the queue': ['worker/main.ts', `import { barrierIn } from '../queue/barrier.ts'`],
    'a worker to the database': ['worker/contact.ts', `import { identify } from '../db/identity.ts'`],
    'the database to the contract': ['db/feedback.ts', `import type { Job } from '../contract/submission.ts'`],
    'a command to both stores': ['cli/replay.ts', `import '../queue/redis.ts'\nimport '../db/dead.ts'`],
    'a command to the embedded servers': ['cli/schema.ts', `import { start } from './start/embedded/server.ts'`],
    'the import to where a service runs': ['cli/import/x.ts', `import { a } from '../../process/service-file.ts'`],
    'within a room': ['worker/feedback.ts', `import { tags } from './tags/generate-tags.ts'`],
    'the launcher to the embedded servers': ['cli/start/start.ts', `import { a } from './embedded/server.ts'`],
    'a test to everything': ['test/end-to-end/x.test.ts', `import { createApp } from '../../api/app.ts'`],
    'elysia in the API': ['api/app.ts', `import { Elysia } from 'elysia'`],
    'postgres in the database': ['db/postgres.ts', `import postgres, { type Sql } from 'postgres'`],
    'bullmq in the queue': ['queue/job-queues.ts', `import { Queue } from 'bullmq'`],
    'postgres in a test': ['test/db/x.test.ts', `import postgres from 'postgres'`],
    'a package whose name only starts alike': ['api/x.ts', `import { parse } from 'postgres-interval'`],
  }
  for (const [what, [path, text]] of Object.entries(allowed)) {
    it(`lets ${what} pass`, () => {
      assert.deepEqual(findImportViolations(house({ [path]: text })), [])
    })
  }

  const refused: Record<string, [path: string, text: string, says: string]> = {
    'the API to a worker': ['api/x.ts', `import { run } from '../worker/batch.ts'`, 'api may not import worker'],
    'the API to a command': ['api/x.ts', `import { run } from '../cli/replay.ts'`, 'api may not import cli'],
    'a worker to the API': ['worker/x.ts', `import { app } from '../api/app.ts'`, 'worker may not import api'],
    'a command to a worker': ['cli/x.ts', `import { a } from '../worker/a.ts'`, 'cli may not import worker'],
    'the queue to the database': ['queue/x.ts', `import { a } from '../db/a.ts'`, 'queue may not import db'],
    'the database to the queue': ['db/x.ts', `import { a } from '../queue/a.ts'`, 'db may not import queue'],
    'every process to the database': ['process/x.ts', `import { a } from '../db/a.ts'`, 'process may not import db'],
    'the import to the database': [
      'cli/import/x.ts',
      `import { a } from '../../db/postgres.ts'`,
      'cli/import may not import db',
    ],
    'a command to the import': ['cli/x.ts', `import { a } from './import/a.ts'`, 'cli may not import cli/import'],
    'the launcher to the database': [
      'cli/start/x.ts',
      `import { a } from '../../db/migrate.ts'`,
      'cli/start may not import db',
    ],
    'the contract to anything': ['contract/x.ts', `import { a } from '../process/a.ts'`, 'contract may not import'],
    'the database to the API': ['db/x.ts', `import { a } from '../api/app.ts'`, 'db may not import api'],
    'sources to a test': ['worker/x.ts', `import { a } from '../test/support/a.ts'`, 'worker may not import test'],
    'elysia in a worker': ['worker/x.ts', `import { Elysia } from 'elysia'`, 'belongs to api'],
    'a file of elysia in the database': ['db/x.ts', `import { t } from 'elysia/type-system'`, 'belongs to api'],
    'a plugin of elysia in a worker': ['worker/x.ts', `import { bearer } from '@elysiajs/bearer'`, 'belongs to api'],
    'postgres in the API': ['api/x.ts', `import postgres from 'postgres'`, 'belongs to db'],
    'bullmq in a worker': ['worker/x.ts', `import type { Job } from 'bullmq'`, 'belongs to queue'],
    'ioredis in a command': ['cli/x.ts', `import { Redis } from 'ioredis'`, 'belongs to queue'],
    'a file outside the rooms': ['api/x.ts', `import pkg from '../package.json'`, 'no room of the house'],
    'a room that nobody knows': ['lib/x.ts', `import { a } from './a.ts'`, 'lib/x.ts belongs to no room'],
  }
  for (const [what, [path, text, says]] of Object.entries(refused)) {
    it(`names ${what}`, () => {
      const [violation, ...others] = findImportViolations(house({ [path]: text }))
      assert.ok(violation?.includes(says), violation ?? 'nothing was found')
      assert.deepEqual(others, [])
    })
  }

  const target = '../worker/batch.ts'
  const forms: Record<string, string> = {
    'types only': `import type { Batch } from '${target}'`,
    'names over several lines': `import {\n  collect,\n  type Batch,\n} from '${target}'`,
    'a default and names': `import batch, { collect } from '${target}'`,
    'everything under a name': `import * as batch from "${target}"`,
    'nothing but the effect': `import '${target}'`,
    'a re-export': `export { collect } from '${target}'`,
    'a re-export of everything': `export * from '${target}'`,
    'a re-export under a name': `export * as batch from '${target}'`,
    'a re-export of types': `export type { Batch } from '${target}'`,
    'an import while running': `const load = async () => await import('${target}')`,
    'an import while running, on its own line': `const batch = await import(\n  '${target}'\n)`,
    'the type of a module': `let batch: import('${target}').Batch`,
    'the old way': `const batch = require('${target}')`,
  }
  for (const [form, text] of Object.entries(forms)) {
    it(`sees ${form}`, () => {
      const violations = findImportViolations(house({ 'api/x.ts': `const a = 1\n${text}\n` }))
      assert.equal(violations.length, 1, violations.join('\n'))
    })
  }

  it('says where', () => {
    const text = `import { a } from './a.ts'\n\nimport { b } from '${target}'\n`
    assert.deepEqual(findImportViolations(house({ 'api/x.ts': text })), [
      `api/x.ts:3 imports ${target}: api may not import worker`,
    ])
  })

  it('does not take comments and other exports for imports', () => {
    const text = [
      `// import { a } from '${target}'`,
      `/** as in import('${target}') */`,
      ` * export * from '${target}'`,
      `export const from = '${target}'`,
      `export function from2() {}`,
    ].join('\n')
    assert.deepEqual(findImportViolations(house({ 'api/x.ts': text })), [])
  })

  it('names a circle once, whichever file comes first', () => {
    const circle = {
      'db/a.ts': `import { b } from './b.ts'`,
      'db/b.ts': `import type { c } from './c.ts'`,
      'db/c.ts': `export { a } from './a.ts'`,
    }
    const expected = ['a circle of imports: db/a.ts → db/b.ts → db/c.ts → db/a.ts']
    assert.deepEqual(findImportViolations(house(circle)), expected)
    assert.deepEqual(findImportViolations(house(circle).toReversed()), expected)
  })

  it('names a file that imports itself, and no diamond', () => {
    assert.deepEqual(findImportViolations(house({ 'db/a.ts': `import { a } from './a.ts'` })), [
      'a circle of imports: db/a.ts → db/a.ts',
    ])
    const diamond = {
      'db/a.ts': `import './b.ts'\nimport './c.ts'`,
      'db/b.ts': `import './d.ts'`,
      'db/c.ts': `import './d.ts'`,
      'db/d.ts': '',
    }
    assert.deepEqual(findImportViolations(house(diamond)), [])
  })
})
