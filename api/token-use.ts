const DAY_MS = 24 * 60 * 60 * 1_000
const GATHERED_FOR_MS = 5_000

type TokenUse = { note: (hashes: Iterable<string>) => void }

/**
 * Writes on which day tokens were used, for the operator: each token at most once a day, some seconds
 * after its first use, and never before an answer. A write that fails is tried again at the next use.
 */
export const createTokenUse = (
  write: (hashes: readonly string[]) => Promise<void>,
  now: () => number,
  gatheredForMs = GATHERED_FOR_MS,
): TokenUse => {
  let day = -1
  let noted = new Set<string>()
  let gathered: string[] = []

  const writeGathered = async (): Promise<void> => {
    const hashes = gathered
    gathered = []
    await write(hashes).catch(() => {
      for (const hash of hashes) noted.delete(hash)
    })
  }

  return {
    note: (hashes) => {
      const today = Math.floor(now() / DAY_MS)
      if (today !== day) noted = new Set()
      day = today
      for (const hash of hashes) {
        if (noted.has(hash)) continue
        noted.add(hash)
        if (gathered.length === 0) setTimeout(() => void writeGathered(), gatheredForMs).unref()
        gathered.push(hash)
      }
    },
  }
}
