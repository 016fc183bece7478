import variants from './data/en-variants.json' with { type: 'json' }
import type { Lexicon } from './lexicon.ts'
import type { Token } from './tokens.ts'

/**
 * How a tag spells one or two words of a text. `isEvent`: the text has a verb, and the tag its
 * noun: logging in, login.
 */
type Variant = { readonly to: string; readonly isEvent: boolean }

const VARIANTS = new Map<string, Variant>([
  ...Object.entries(variants.spellings).map(([from, to]): [string, Variant] => [from, { to, isEvent: false }]),
  ...Object.entries(variants.events).map(([from, to]): [string, Variant] => [from, { to, isEvent: true }]),
])
const FIRST_OF_TWO = new Set(
  [...VARIANTS.keys()].filter((from) => from.includes(' ')).map((from) => from.split(' ')[0]),
)

/**
 * Replaces spelling variants by one spelling, and verbs that name an event by their noun. For
 * English only.
 */
export const unifyVariants = (tokens: readonly Token[], lexicon: Lexicon): readonly Token[] => {
  if (lexicon.language !== 'en') return tokens
  const unified: Token[] = []
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] as Token
    if (token.kind !== 'word') {
      unified.push(token)
      continue
    }
    const next = tokens[at + 1]
    const pair =
      next?.kind === 'word' && FIRST_OF_TWO.has(token.text) ? VARIANTS.get(`${token.text} ${next.text}`) : undefined
    const variant = pair ?? VARIANTS.get(token.text)
    if (pair !== undefined) at++
    unified.push(
      variant === undefined ? token : { ...token, text: variant.to, ...(variant.isEvent ? { isEvent: true } : {}) },
    )
  }
  return unified
}
