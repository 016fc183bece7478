/** The code of the error with which `withinTime` rejects. */
export const NO_ANSWER = 'NO_ANSWER'

/** Rejects if a promise is not settled in time. Its work goes on, and its result is dropped. */
export const withinTime = async <T>(promise: Promise<T>, ms: number): Promise<T> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(Object.assign(new Error(`There was no answer within ${ms} ms.`), { code: NO_ANSWER })),
      ms,
    )
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Rejects if the work does not call `moved` for this time. The work goes on, and its next call of
 * `moved` throws.
 */
export const whileItMoves = async <T>(work: (moved: () => void) => Promise<T>, ms: number): Promise<T> => {
  let late: ReturnType<typeof setTimeout> | undefined
  let isGivenUp = false
  const stuck = Promise.withResolvers<never>()
  const moved = (): void => {
    if (isGivenUp) throw new Error('This work was given up, since it did not move in time.')
    clearTimeout(late)
    late = setTimeout(() => {
      isGivenUp = true
      stuck.reject(Object.assign(new Error(`Nothing moved within ${ms} ms.`), { code: NO_ANSWER }))
    }, ms)
  }
  moved()
  try {
    return await Promise.race([work(moved), stuck.promise])
  } finally {
    clearTimeout(late)
  }
}
