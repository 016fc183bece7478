import { type Lexicon, traitsOf } from './lexicon.ts'
import { tokenize } from './tokens.ts'
import { unifyVariants } from './variants.ts'

/** The key of a tag as a phrase of a text: its stemmed words, without determiners. */
export const keyOfTag = (tag: string, lexicon: Lexicon): string => {
  const stems: string[] = []
  for (const token of unifyVariants(tokenize(tag.slice(0, MAX_READ_CHARACTERS)), lexicon)) {
    if (token.kind !== 'word' && token.kind !== 'segment') continue
    const traits = traitsOf(lexicon, token.text)
    if (!traits.isDeterminer) stems.push(traits.stem)
  }
  return stems.join(' ')
}

const MAX_READ_CHARACTERS = 200
