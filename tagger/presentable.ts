import { tokenize } from './tokens.ts'

const MAX_TAG_CHARACTERS = 48

/**
 * The last check of a tag, independent of all earlier steps. A tag must not look like an address, a
 * number or an identifier, even if people gave it to another text.
 */
export const isPresentable = (tag: string): boolean => {
  if (tag.length === 0 || tag.length > MAX_TAG_CHARACTERS) return false
  if (/[@:\\/_<>&\n]|\p{Nd}.*\p{Nd}/u.test(tag)) return false
  return tokenize(tag).every(({ kind }) => kind === 'word' || kind === 'segment')
}
