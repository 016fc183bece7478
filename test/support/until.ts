import assert from 'node:assert/strict'

/** Generous, so that a busy machine fails no test. */
const WITHIN_MS = 90_000
const EVERY_MS = 15

/**
 * Waits for a condition that another process brings about, and returns what it gave.
 *
 * @throws when it still gives nothing after a generous time.
 */
export const until = async <T>(
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
