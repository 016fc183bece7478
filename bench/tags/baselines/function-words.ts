import en from '../../../tagger/data/en.json' with { type: 'json' }
import { toSet } from '../../../tagger/word-lists.ts'

/** The stop words for RAKE and YAKE: the function words of the tagger. */
export const FUNCTION_WORDS: ReadonlySet<string> = new Set([
  ...toSet(en.stop),
  ...toSet(en.determiners),
  ...toSet(en.beforeVerbs),
])
