/** The code of the error with which `withinTime` rejects. */
export const NO_ANSWER = 'NO_ANSWER'

/**
 * Settles like the promise, or rejects with the code `NO_ANSWER` after `ms`. The work of the
 * promise then goes on.
 */
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

export const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
