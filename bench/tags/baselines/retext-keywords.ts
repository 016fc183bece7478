import { toString } from 'nlcst-to-string'
import { retext } from 'retext'
import retextKeywords from 'retext-keywords'
import retextPos from 'retext-pos'
import { VFile } from 'vfile'

const MAX_TAGS = 5

const processor = retext().use(retextPos).use(retextKeywords, { maximum: MAX_TAGS })

/** The key phrases, then the key words, of retext-keywords. */
export const retextTags = async (text: string): Promise<string[]> => {
  const file = new VFile(text)
  await processor.run(processor.parse(file), file)
  const phrases = (file.data.keyphrases ?? []).map(({ matches }) => toString(matches[0]?.nodes ?? []))
  const words = (file.data.keywords ?? []).map(({ matches }) => (matches[0] ? toString(matches[0].node) : ''))
  return [...new Set([...phrases, ...words].map((tag) => tag.toLowerCase()))].filter(Boolean).slice(0, MAX_TAGS)
}
