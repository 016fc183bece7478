import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findLargeRooms } from '../../tools/room-size.ts'

const file = (path: string, lines: number) => ({ path, text: 'x\n'.repeat(lines) })

it('finds a room with too many lines, over all its files', () => {
  const found = findLargeRooms([file('queue/first.ts', 6_000), file('queue/jobs/second.ts', 501)])
  assert.deepEqual(found, ['queue has 6501 lines of TypeScript, which is more than 6500'])
  assert.deepEqual(findLargeRooms([file('queue/first.ts', 6_500)]), [])
})

it('counts a folder that is a room by itself', () => {
  assert.deepEqual(findLargeRooms([file('cli/first.ts', 6_000), file('cli/import/second.ts', 6_000)]), [])
})

it('finds tests that outgrow the product, which has no benchmark and no tools', () => {
  const others = [file('queue/first.ts', 60), file('api/mcp/second.ts', 40), file('bench/third.ts', 50)]
  assert.deepEqual(findLargeRooms([...others, file('test/some.test.ts', 110)]), [])
  const found = findLargeRooms([...others, file('test/some.test.ts', 100), file('test/support/more.ts', 11)])
  assert.deepEqual(found, ['test has 111 lines, which is more than 1.1 times the 100 lines of the product'])
})
