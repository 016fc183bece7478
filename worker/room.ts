type Load = { submissions: number; bytes: number }

/**
 * Bounds what a worker has in hand. A load waits until there is room for it, in the order of asking; one that is larger than all the room
 * has it alone.
 */
export const roomFor = (most: Load): (<T>(load: Load, work: () => Promise<T>) => Promise<T>) => {
  const used: Load = { submissions: 0, bytes: 0 }
  const waiting: { load: Load; enter: () => void }[] = []
  const fits = ({ submissions, bytes }: Load): boolean =>
    used.submissions === 0 || (used.submissions + submissions <= most.submissions && used.bytes + bytes <= most.bytes)
  const enter = ({ submissions, bytes }: Load): void => {
    used.submissions += submissions
    used.bytes += bytes
  }
  const leave = ({ submissions, bytes }: Load): void => {
    used.submissions -= submissions
    used.bytes -= bytes
    while (waiting.length > 0 && fits(waiting[0]!.load)) {
      const next = waiting.shift()!
      enter(next.load)
      next.enter()
    }
  }
  return async (load, work) => {
    if (waiting.length === 0 && fits(load)) enter(load)
    else await new Promise<void>((resolve) => waiting.push({ load, enter: resolve }))
    try {
      return await work()
    } finally {
      leave(load)
    }
  }
}
