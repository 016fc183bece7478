import type { WordTraits } from './lexicon.ts'

/** A phrase of a text, with counts of its occurrences by kind. */
export type Candidate = {
  /** The stemmed words: `exports` and `export` have the same key. */
  readonly key: string
  readonly hash: number
  /** The words in lower case, in the form of the first occurrence. */
  readonly words: readonly string[]
  readonly traits: readonly WordTraits[]
  /** The key of each single word. */
  readonly stems: readonly string[]
  /** The index of the first occurrence among the tokens. */
  readonly at: number
  /** The place of the first occurrence in the text, from 0 to nearly 1. */
  readonly position: number
  /** Whether the phrase may become a tag without an example from people. */
  isOpen: boolean
  /** Whether the phrase would be open, but may be a name or a typing error. */
  isDoubtful: boolean
  occurrences: number
  /** Occurrences after a determiner: the screen, a new screen. */
  determined: number
  /** Occurrences where a verb is expected: I screen. */
  verbal: number
  /** Occurrences outside longer phrases. */
  free: number
  /**
   * Occurrences after a filler or another word that is no noun. Most such words are praise or blame:
   * the great screen.
   */
  praised: number
  /** Occurrences before a verb such as `is`. */
  described: number
  /** Occurrences after a stop word that announces neither a noun nor a verb: of, with. */
  related: number
  /** Occurrences in a request: please add a nice dark mode. */
  requested: number
  /** Occurrences as the first words of a clause, without a determiner: battery died. */
  starting: number
  /** Occurrences as an event: exports to CSV, the card was declined, the app crashes. */
  joined: number
  /** Occurrences with a verb that names an event: logging in. */
  events: number
  /** Occurrences near a word of praise or blame in the same clause. */
  opinionated: number
  /**
   * Occurrences as the first words of a clause, with or without a determiner: the battery died.
   * Most are the subject of the clause.
   */
  leading: number
  /**
   * Occurrences before a word of failure or a negation: the app crashes, the search does not work.
   */
  failing: number
  /**
   * Occurrences after a word of failure or a negation: we lost the attachments, cannot print the
   * label.
   */
  denied: number
  /** Occurrences after a word like `when` or `although`, which introduces circumstances. */
  aside: number
  /** Occurrences after a preposition of place. */
  located: number
  /** Whether a list or the dictionary has the phrase as a compound. */
  readonly isCompound: boolean
  /** Whether the phrase is in the English list of frequent topics of feedback: time zone. */
  readonly isNamed: boolean
  /**
   * Whether the first occurrence has another word order, and is no event: `quality of the picture`
   * for `picture quality`.
   */
  readonly isInverted: boolean
}
