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
