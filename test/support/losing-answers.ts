import { type Between, sightOf, standBetween } from './between.ts'

export type LosingAnswers = Between & {
  loseAnswers: (count?: number) => void
  /**
   * Resolves when a request with this text has been passed on. From then on no client gets an
   * answer.
   */
  loseAnswersFrom: (text: string) => Promise<void>
  /** Whether an answer has been lost since then. */
  hasLost: () => boolean
  /** Ends the effect of `loseAnswersFrom`. */
  passAnswers: () => void
}

/**
 * A proxy before a server that can lose answers: instead of the last one it closes the connection.
 */
export const losingAnswers = async (serverUrl: string): Promise<LosingAnswers> => {
  let toLose = 0
  let isSilent = false
  let hasLost = false
  let awaited: { isSeen: ReturnType<typeof sightOf>; begin: () => void } | undefined
  const between = await standBetween(serverUrl, {
    request: (bytes, client) => {
      if (awaited?.isSeen(bytes, client)) {
        isSilent = true
        hasLost = false
        awaited.begin()
        awaited = undefined
      }
      return true
    },
    answer: (_, client) => {
      if (isSilent) hasLost = true
      if (isSilent) return false
      if (toLose === 0) return true
      if (--toLose === 0) client.destroy()
      return false
    },
  })
  return {
    ...between,
    loseAnswers: (count = 1) => {
      toLose = count
    },
    loseAnswersFrom: (text) => new Promise((begin) => (awaited = { isSeen: sightOf(text), begin })),
    hasLost: () => hasLost,
    passAnswers: () => {
      isSilent = false
    },
  }
}
