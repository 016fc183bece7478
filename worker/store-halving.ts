/**
 * Stores things together, in their order. When that fails, it halves them until what fails does so by itself: `alone` says what that
 * thing comes to, so no fault is held against a thing that met it in company. What came before a thing is stored, was alone, or is left
 * out before it is tried.
 */
export const storeHalving = async <Thing, Out>(
  things: readonly Thing[],
  steps: {
    store: (things: readonly Thing[]) => Promise<readonly Out[]>
    /** A fault after which nothing more is tried. */
    isOver: (error: unknown) => boolean
    alone: (thing: Thing, error: unknown) => Promise<Out>
    /** What a thing comes to that is not to be tried after what happened to those before it. */
    leftOut: (thing: Thing) => Out | undefined
  },
): Promise<readonly Out[]> => {
  const tried = things.filter((thing) => steps.leftOut(thing) === undefined)
  if (tried.length < things.length) {
    const results = (await storeHalving(tried, steps)).values()
    return things.map((thing) => (tried.includes(thing) ? results.next().value! : steps.leftOut(thing)!))
  }
  if (things.length === 0) return []
  try {
    return await steps.store(things)
  } catch (error) {
    if (steps.isOver(error)) throw error
    if (things.length === 1) return [await steps.alone(things[0]!, error)]
    const middle = Math.ceil(things.length / 2)
    const first = await storeHalving(things.slice(0, middle), steps)
    return [...first, ...(await storeHalving(things.slice(middle), steps))]
  }
}
