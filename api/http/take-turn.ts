const waiting: (() => void)[] = []

/**
 * Resolves in a later turn of the event loop, for one caller a turn. So the pieces of large work of
 * many requests do not run one after the other without a look at the other requests.
 */
export const takeTurn = (): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(letNext)
  })

const letNext = (): void => {
  const [first] = waiting.splice(0, 1)
  if (waiting.length > 0) setImmediate(letNext)
  first?.()
}

/** So long is a piece of the work on many items. */
const PIECE_MS = 10

/** Begins the work on each item, in their order and in pieces. */
export const inTurns = async <Item, Done>(
  items: readonly Item[],
  work: (item: Item) => Promise<Done>,
): Promise<Done[]> => {
  const begun: Promise<Done>[] = []
  let turnEndsAt = 0
  for (const item of items) {
    if (performance.now() > turnEndsAt) {
      await takeTurn()
      turnEndsAt = performance.now() + PIECE_MS
    }
    const doing = work(item)
    // Promise.all below throws the fault.
    doing.catch(() => {})
    begun.push(doing)
  }
  return Promise.all(begun)
}
