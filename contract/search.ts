/**
 * A word that is searched, as it was given. The text must have one of the hashes of each of `keys`.
 */
export type SearchedWord = { readonly text: string; readonly keys: readonly (readonly number[])[] }

/**
 * One word, or words in a row. `isPhrase`: the hashes alone do not tell whether a text has it, since
 * they say nothing about the order of words.
 */
export type SearchedTerm = { readonly words: readonly SearchedWord[]; readonly isPhrase: boolean }

/** A text matches if it has at least one term of each part. */
export type Search = {
  readonly parts: readonly (readonly SearchedTerm[])[]
  readonly matches: (text: string) => boolean
}

export const hasPhrase = ({ parts }: Search): boolean => parts.some((terms) => terms.some(({ isPhrase }) => isPhrase))
