import type { Analysis } from '../tagger/generate-tags.ts'
import kinds from './data/kinds.json' with { type: 'json' }
import { findOpinions, languageOf } from './opinions.ts'
import { countPhrases, findPhrases, type PhraseList, toPhraseList, toPhrases } from './phrases.ts'

type KindPhrases = { readonly question: PhraseList; readonly request: PhraseList; readonly problem: PhraseList }

const listOf = (lines: readonly string[]): PhraseList =>
  toPhraseList(new Map(toPhrases(lines).map((phrase) => [phrase, 1])))

const NO_PHRASES: KindPhrases = { question: listOf([]), request: listOf([]), problem: listOf([]) }
const PHRASES = new Map<string, KindPhrases>(
  Object.entries(kinds).map(([language, { question, request, problem }]) => [
    language,
    { question: listOf(question), request: listOf(request), problem: listOf(problem) },
  ]),
)
/** A question word among so many first tokens is the beginning of a question. */
const FIRST_TOKENS = 3

/** What each number of `signsOf` measures, in its order. */
export const SIGNS = [
  'one',
  'net',
  'praise',
  'blame',
  'lateNet',
  'noOpinion',
  'negations',
  'exclamations',
  'questions',
  'happy',
  'sad',
  'capitals',
  'length',
  'troubles',
  'requests',
  'numbers',
  'asked',
  'askedFirst',
  'wished',
  'failed',
  'endsAsking',
] as const

const HAPPY =
  /[\u{1f600}-\u{1f60e}\u{1f618}\u{1f619}\u{1f61a}\u{1f61b}\u{1f61c}\u{1f917}\u{1f929}\u{1f970}\u{1f973}\u{1f389}\u{1f38a}\u{1f44d}\u{1f44f}\u{1f44c}\u{1f495}\u{1f496}\u{1f497}\u{1f498}\u{1f499}\u{1f49a}\u{1f49b}\u{1f49c}\u{1f4aa}\u{1f525}\u{1f64c}\u{1f64f}\u{1f60d}\u{2b50}\u{2764}\u{2665}\u{263a}★☆♪]|[:;=]-?[)D\]]|<3|\^\^|\^_\^|\b(?:ha){2,}|\bjaja|哈哈|www/gu
const SAD =
  /[\u{1f61e}-\u{1f62d}\u{1f612}\u{1f613}\u{1f614}\u{1f616}\u{1f620}\u{1f621}\u{1f622}\u{1f623}\u{1f624}\u{1f625}\u{1f62b}\u{1f629}\u{1f62a}\u{1f630}\u{1f631}\u{1f633}\u{1f634}\u{1f635}\u{1f637}\u{1f641}\u{1f644}\u{1f92c}\u{1f926}\u{1f44e}\u{1f494}\u{1f4a9}\u{2639}]|[:=]['’]?-?[([/\\]|(?:-_+-)|T_T/gu
const SHOUTED = /(?<!\p{L})\p{Lu}{3,}(?!\p{L})/gu
const MAX_READ_CHARACTERS = 4_000

/** The general signs of mood and kind, which need no text of the workspace. */
export const signsOf = (analysis: Analysis): number[] => {
  const text = analysis.text.slice(0, MAX_READ_CHARACTERS)
  const language = languageOf(analysis)
  const opinions = findOpinions(analysis)
  const isSegmented = language === 'ja' || language === 'zh'
  const { question, request, problem } = PHRASES.get(language) ?? NO_PHRASES
  const countOf = (list: PhraseList): number =>
    isSegmented ? findPhrases(text, list).length : countPhrases(analysis.tokens, list)
  const { good, bad, lateGood, lateBad, negations } = opinions
  const { traits, tokens } = analysis.reading
  const count = (pattern: RegExp): number => text.match(pattern)?.length ?? 0
  return [
    1,
    (good - bad) / (good + bad + 1),
    Math.log1p(good),
    Math.log1p(bad),
    (lateGood - lateBad) / (lateGood + lateBad + 1),
    good + bad === 0 ? 1 : 0,
    Math.log1p(negations),
    Math.log1p(count(/[!！]/g)),
    Math.log1p(count(/[?？؟]/g)),
    Math.log1p(count(HAPPY)),
    Math.log1p(count(SAD)),
    Math.log1p(count(SHOUTED)),
    Math.log2(1 + text.length) / 8,
    Math.log1p(traits.filter((each) => each?.isTrouble === true).length),
    Math.log1p(traits.filter((each) => each?.isRequest === true).length),
    Math.log1p(tokens.filter((each) => each.kind === 'hidden').length),
    Math.log1p(countOf(question)),
    Math.min(1, isSegmented ? 0 : countPhrases(analysis.tokens, question, FIRST_TOKENS)),
    Math.log1p(countOf(request)),
    Math.log1p(countOf(problem)),
    /[?？؟]\s*$/.test(text) ? 1 : 0,
  ]
}
