import assert from 'node:assert/strict'
import process from 'node:process'

/** The guard of all tests against waiting for ever. No test decides by it, also on a busy machine. */
export const GUARD_MS = process.env['TEST_SIZE'] === 'long' ? 60 * 60_000 : 10 * 60_000
/** The pauses between two looks grow, so that long waits cost little. */
const PAUSE_MS = { first: 10, growth: 1.25, longest: 200 }

/**
 * Waits until a condition holds, and returns its value. The type excludes numbers, since a count of
 * 0 would hold.
 *
 * @throws when the condition does not hold within `GUARD_MS`.
 */
export const until = async <T extends object | string | true>(
  what: string,
  condition: () => Promise<T | undefined | null | false>,
): Promise<T> => {
  const end = performance.now() + GUARD_MS
  for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(pauseMs * PAUSE_MS.growth, PAUSE_MS.longest)) {
    const found = await condition()
    if (found !== undefined && found !== null && found !== false) return found
    assert.ok(performance.now() < end, `still waiting after ${GUARD_MS / 1_000} s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
