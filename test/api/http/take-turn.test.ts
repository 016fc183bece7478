import assert from 'node:assert/strict'
import { it } from 'node:test'
import { takeTurn } from '../../../api/http/take-turn.ts'

it('pieces of work that take turns leave the event loop a turn after each', async () => {
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const seen: number[] = []
  const work = async (): Promise<void> => {
    for (let piece = 0; piece < 3; piece++) {
      await takeTurn()
      seen.push(turns)
    }
  }
  await Promise.all(Array.from({ length: 20 }, work))
  isOver = true
  assert.equal(seen.length, 60)
  assert.equal(new Set(seen).size, 60, 'never two pieces in one turn')
})
