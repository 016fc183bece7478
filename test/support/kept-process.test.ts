import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { keep } from './kept-process.ts'
import { until } from './until.ts'

const createProgram = () => {
  const { promise: exited, resolve } = Promise.withResolvers<void>()
  let hasEnded = false
  const stop = async (): Promise<void> => {
    hasEnded = true
    resolve()
  }
  return { pid: 0, exited, stop, hasEnded: () => hasEnded }
}

describe('a kept process', () => {
  it('stays down when a test holds it while it starts again', async () => {
    const [first, second] = [createProgram(), createProgram()]
    const started = Promise.withResolvers<void>()
    let starts = 0
    const kept = await keep(async () => {
      if (starts++ === 0) return first
      await started.promise
      return second
    })
    await first.stop()
    await until('the process starts again', async () => starts === 2)
    const held = kept.hold()
    started.resolve()
    await held
    assert.ok(second.hasEnded())
    await kept.stop()
  })
})
