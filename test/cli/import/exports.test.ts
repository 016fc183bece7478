import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import expected from './exports/expected.json' with { type: 'json' }
import { imported } from './imported.ts'

/** Files in the form of the tools, with invented contents. `count`: the number of all bodies. */
describe('the export of a tool', () => {
  for (const { file, options, first, count, skipped = [] } of expected)
    it(`${file} is imported`, () => {
      const content = readFileSync(fileURLToPath(new URL(`exports/${file}`, import.meta.url)))
      const found = imported(file, content, options)
      assert.match(found.plan, new RegExp(`The layout is ${file.replace(/\..*/, '')};`))
      assert.deepEqual([found.refused, found.doubts, found.skipped], [[], [], skipped])
      assert.deepEqual([found.bodies.slice(0, first.length), found.bodies.length], [first, count])
    })
})
