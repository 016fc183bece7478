import { tokenize } from './tokens.ts'

const MAX_TAG_CHARACTERS = 48

/**
 * The last check before a tag leaves, whatever earlier steps have let through: nothing in a tag may
 * look like an address, a number or an identifier, not even in a tag that people gave to another
 * text.
 */
export const isPresentable = (tag: string): boolean => {
  if (tag.length === 0 || tag.length > MAX_TAG_CHARACTERS) return false
  if (/[@:\\/_<>&\n]|\p{Nd}.*\p{Nd}/u.test(tag)) return false
  return tokenize(tag).every(({ kind }) => kind === 'word' || kind === 'segment')
}
