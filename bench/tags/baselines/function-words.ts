import en from '../../../tagger/data/en.json' with { type: 'json' }
import { toSet } from '../../../tagger/word-lists.ts'

/**
 * The stop words that RAKE and YAKE are given: the same function words that the tagger leaves out.
 */
export const FUNCTION_WORDS: ReadonlySet<string> = new Set([
  ...toSet(en.stop),
  ...toSet(en.determiners),
  ...toSet(en.beforeVerbs),
])
