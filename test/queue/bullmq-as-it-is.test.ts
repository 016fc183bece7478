import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../queue', import.meta.url))

/** The last parts of the names of keys of BullMQ 6.7.0, for queues and jobs. */
const KEYS_OF_BULLMQ =
  'wait|paused|active|prioritized|delayed|waiting-children|completed|failed|meta|marker|events|pc|id|limiter|repeat|stalled|' +
  'stalled-check|de|lock|dependencies|processed|unsuccessful|logs'

/** Code that would depend on the inside of BullMQ, with the ending of the searched files. */
const INTRUSIONS: readonly (readonly [what: string, ending: string, pattern: RegExp])[] = [
  // A whole quoted text, or its end after a colon.
  ['names a key of BullMQ', '.lua', new RegExp(`['"](?:[^'"\\n]*:)?(?:${KEYS_OF_BULLMQ})['"]`)],
  [
    'subclasses a class of BullMQ',
    '.ts',
    /\bextends\s+(?:\w+\.)?(?:Worker|Queue|QueueBase|Job|Scripts|FlowProducer|QueueEvents)\b/,
  ],
  ['imports an inner file of BullMQ', '.ts', /['"]bullmq\/[^'"]*['"]/],
  ['writes on a prototype', '.ts', /\.prototype\b|\bsetPrototypeOf\b/],
  ['replaces a member of BullMQ', '.ts', /\b(?:queue|worker|job|scripts)(?:\.\w+)+\s*=(?![=>])/i],
  ['uses scripts of BullMQ', '.ts', /\.scripts\b|\bnew Scripts\b/],
]

describe('BullMQ as it is', () => {
  const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:ts|lua)$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
    .map(({ path, text }) => ({ path, text: path.endsWith('.lua') ? text.replaceAll(/--.*$/gm, '') : text }))

  it('has no key that our scripts name, and is not subclassed, patched or accessed inside', () => {
    assert.ok(sources.filter(({ path }) => path.endsWith('.lua')).length > 5)
    assert.ok(sources.some(({ text }) => text.includes(`from 'bullmq'`)))
    const found = sources.flatMap(({ path, text }) =>
      INTRUSIONS.filter(([, ending, pattern]) => path.endsWith(ending) && pattern.test(text)).map(
        ([what]) => `${path} ${what}`,
      ),
    )
    assert.deepEqual(found, [])
  })

  it('has one kind of key that our code reads: the key of a job, for the age of the oldest job', () => {
    const naming = sources.filter(({ path, text }) => path.endsWith('.ts') && /\btoKey\b/.test(text))
    assert.deepEqual(
      naming.map(({ path }) => path),
      ['jobs/queue-depths.ts'],
    )
  })
})
