import cues from './data/name-cues.json' with { type: 'json' }
import { isDeterminer, isFunctionWord, isKnownWord, toSet } from './lexicon.ts'
import type { Lexicon } from './lexicon.ts'
import type { Token } from './tokens.ts'

/** A first name and a family name. */
const MAX_NAMES_AFTER_CUE = 2

const HIDDEN: Token = { kind: 'hidden', reason: 'other' }
const BEFORE = toSet(cues.before)
const BETWEEN = toSet(cues.between)
const AFTER_SEGMENTED = toSet(cues.afterSegmented)
const BEFORE_SEGMENTED = toSet(cues.beforeSegmented)

/**
 * Hides what may be somebody's name: words after a greeting, title or closing, and capitalised words that neither a list
 * nor the rest of the text knows as common words. It also hides product names; that is the price.
 */
export function hideNames(tokens: readonly Token[], lexicon: Lexicon): Token[] {
  return hideCapitalised(hideAfterCues(tokens, lexicon), lexicon)
}

function hideAfterCues(tokens: readonly Token[], lexicon: Lexicon): Token[] {
  let expected = 0
  return tokens.map((token, at) => {
    if (token.kind === 'segment') return isSegmentedName(tokens, at) ? HIDDEN : token
    if (token.kind !== 'word') return token
    if (BEFORE.has(token.text)) {
      expected = MAX_NAMES_AFTER_CUE
      return token
    }
    if (expected === 0 || BETWEEN.has(token.text)) return token
    const isName = token.isCapitalised ? !isFunctionWord(lexicon, token.text) : !isKnownWord(lexicon, token.text)
    expected = isName ? expected - 1 : 0
    return isName ? HIDDEN : token
  })
}

function isSegmentedName(tokens: readonly Token[], at: number): boolean {
  const before = tokens[at - 1]
  const after = tokens[at + 1]
  return (
    (before?.kind === 'segment' && BEFORE_SEGMENTED.has(before.text)) ||
    (after?.kind === 'segment' && AFTER_SEGMENTED.has(after.text))
  )
}

function hideCapitalised(tokens: readonly Token[], lexicon: Lexicon): Token[] {
  const common = new Set<string>()
  for (const token of tokens) {
    if (token.kind === 'word' && !token.isCapitalised) common.add(token.text)
  }
  const isUnknown = (token: Token | undefined): boolean =>
    token?.kind === 'word' && token.isCapitalised && !common.has(token.text) && !isKnownWord(lexicon, token.text)
  return tokens.map((token, at) => {
    if (token.kind !== 'word' || !token.isCapitalised || isFunctionWord(lexicon, token.text)) return token
    // In German every noun is capitalised, and names seldom have an article.
    if (lexicon.language === 'de') return isUnknown(token) && !isDeterminer(lexicon, tokens[at - 1]) ? HIDDEN : token
    // A common word next to a name belongs to it: Mark Miller, Acme Mobile.
    const besideName = isUnknown(tokens[at - 1]) || isUnknown(tokens[at + 1])
    return isUnknown(token) || besideName ? HIDDEN : token
  })
}
