import model from 'wink-eng-lite-web-model'
import winkNLP from 'wink-nlp'

const MAX_TAGS = 5

const nlp = winkNLP(model, ['sbd', 'pos'])

/** Runs of nouns, most frequent first, by the parts of speech of wink-nlp. */
export const winkTags = (text: string): string[] => {
  const tokens = nlp.readDoc(text).tokens()
  // The package hands these functions around by themselves.
  // oxlint-disable-next-line typescript/unbound-method
  const words = tokens.out(nlp.its.normal)
  // oxlint-disable-next-line typescript/unbound-method
  const parts = tokens.out(nlp.its.pos)
  const phrases = new Map<string, number>()
  let run: string[] = []
  for (let at = 0; at <= words.length; at++) {
    if (at < words.length && (parts[at] === 'NOUN' || parts[at] === 'PROPN')) run.push(words[at] ?? '')
    else {
      if (run.length > 0) phrases.set(run.join(' '), (phrases.get(run.join(' ')) ?? 0) + 1)
      run = []
    }
  }
  return [...phrases]
    .sort(([, one], [, other]) => other - one)
    .slice(0, MAX_TAGS)
    .map(([phrase]) => phrase)
}
