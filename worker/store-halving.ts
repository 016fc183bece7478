/**
 * Stores things together, in their order. When that fails for a reason that trying again cannot mend, it halves them until the bad one is
 * alone, which `setAside` gets. What came before a thing is stored, or set aside, before it is tried.
 */
export const storeHalving = async <Thing, Out>(
  things: readonly Thing[],
  steps: {
    store: (things: readonly Thing[]) => Promise<readonly Out[]>
    isPermanent: (error: unknown) => boolean
    setAside: (thing: Thing, error: unknown) => Promise<Out>
  },
): Promise<readonly Out[]> => {
  try {
    return await steps.store(things)
  } catch (error) {
    if (!steps.isPermanent(error)) throw error
    if (things.length === 1) return [await steps.setAside(things[0]!, error)]
    const middle = Math.ceil(things.length / 2)
    const first = await storeHalving(things.slice(0, middle), steps)
    return [...first, ...(await storeHalving(things.slice(middle), steps))]
  }
}
