import assert from 'node:assert/strict'

/** Generous, so that no test fails on a busy machine. */
const WITHIN_MS = 90_000
const EVERY_MS = 15

/**
 * Waits until a condition holds, and returns its value. The type excludes numbers, since a count of
 * 0 would hold.
 *
 * @throws when the condition does not hold within `withinMs`.
 */
export const until = async <T extends object | string | true>(
  what: string,
  condition: () => Promise<T | undefined | null | false>,
  withinMs = WITHIN_MS,
): Promise<T> => {
  const end = performance.now() + withinMs
  for (;;) {
    const found = await condition()
    if (found !== undefined && found !== null && found !== false) return found
    assert.ok(performance.now() < end, `still waiting after ${withinMs / 1_000} s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
}
