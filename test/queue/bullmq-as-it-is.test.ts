import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../queue', import.meta.url))

type Source = { path: string; text: string }

const sources = (ending: string): Source[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(ending))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

/** The ends of the names of BullMQ 6.7.0 for keys of a queue and of a job. */
const KEYS_OF_BULLMQ =
  'wait|paused|active|prioritized|delayed|waiting-children|completed|failed|meta|marker|events|pc|id|limiter|repeat|stalled|' +
  'stalled-check|de|lock|dependencies|processed|unsuccessful|logs'
/** The end of a quoted text, alone or after a colon. */
const NAMED_IN_LUA = new RegExp(`['"](?:[^'"\\n]*:)?(?:${KEYS_OF_BULLMQ})['"]`)

const PATCHES: Readonly<Record<string, RegExp>> = {
  'subclasses one of its classes':
    /\bextends\s+(?:\w+\.)?(?:Worker|Queue|QueueBase|Job|Scripts|FlowProducer|QueueEvents)\b/,
  'imports a file inside of it': /['"]bullmq\/[^'"]*['"]/,
  'writes on a prototype': /\.prototype\b|\bsetPrototypeOf\b/,
  'replaces a member of it': /\b(?:queue|worker|job|scripts)(?:\.\w+)+\s*=(?![=>])/i,
  'uses its scripts': /\.scripts\b|\bnew Scripts\b/,
}

const findInLua = (files: readonly Source[]): string[] =>
  files.flatMap(({ path, text }) =>
    text
      .split('\n')
      .map((line) => line.replace(/--.*$/, ''))
      .flatMap((line, at) => (NAMED_IN_LUA.test(line) ? [`${path}:${at + 1} names a key of BullMQ`] : [])),
  )

const findPatches = (files: readonly Source[]): string[] =>
  files.flatMap(({ path, text }) =>
    Object.entries(PATCHES).flatMap(([what, pattern]) => (pattern.test(text) ? [`${path} ${what}`] : [])),
  )

describe('BullMQ as it is', () => {
  it('has no key that our scripts name', () => {
    const scripts = sources('.lua')
    assert.ok(scripts.length > 5)
    assert.deepEqual(findInLua(scripts), [])
  })

  it('is not subclassed, patched or accessed inside', () => {
    const files = sources('.ts')
    assert.ok(files.some(({ text }) => text.includes(`from 'bullmq'`)))
    assert.deepEqual(findPatches(files), [])
  })

  it('has one key that our code reads, for the age of a queue', () => {
    const naming = sources('.ts').filter(({ text }) => /\btoKey\b/.test(text))
    assert.deepEqual(
      naming.map(({ path }) => path),
      ['jobs/queue-depths.ts'],
    )
  })
})
