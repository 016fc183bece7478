import { roomOf, SERVICE_ROOMS } from './import-rule.ts'
import type { TextFile } from './source-files.ts'

const MOST_ROOM_LINES = 6_500
/** Lines of tests for each line of the product. This bound may fall, and never rises. */
const MOST_TEST_SHARE = 1.1

/** One sentence for each room with too much TypeScript, and for tests that outgrow the product. */
export const findLargeRooms = (files: readonly TextFile[]): string[] => {
  const lines = new Map<string, number>()
  for (const { path, text } of files) {
    const room = roomOf(path)
    if (room !== undefined) lines.set(room, (lines.get(room) ?? 0) + text.trimEnd().split('\n').length)
  }
  const tests = lines.get('test') ?? 0
  const product = SERVICE_ROOMS.reduce((sum, room) => sum + (lines.get(room) ?? 0), 0)
  return [
    ...[...lines]
      .filter(([room, count]) => room !== 'test' && count > MOST_ROOM_LINES)
      .map(([room, count]) => `${room} has ${count} lines of TypeScript, which is more than ${MOST_ROOM_LINES}`),
    ...(tests > product * MOST_TEST_SHARE
      ? [`test has ${tests} lines, which is more than ${MOST_TEST_SHARE} times the ${product} lines of the product`]
      : []),
  ]
}
