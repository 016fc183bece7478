import noise from './data/noise.json' with { type: 'json' }
import { MAX_TEXT_CHARACTERS } from './tokens.ts'

/** The first characters of a text show whether it is an automatic reply. */
const READ_CHARACTERS = 400
/**
 * A closing begins a signature if at most this many characters remain. A longer rest is content,
 * such as a reply below a quoted mail.
 */
const MAX_SIGNATURE_CHARACTERS = 600

/**
 * Removes greetings, closings with signatures, and whole automatic replies. In a conversation of
 * several messages, also removes sentences of small talk.
 */
export const dropNoise = (messages: readonly string[]): string =>
  messages
    .map(withoutNoise)
    .map((message) => (messages.length > 1 ? withoutSmallTalk(message) : message))
    .join('\n')

const withoutNoise = (text: string): string => {
  const plain = text.slice(0, MAX_TEXT_CHARACTERS).replaceAll('’', "'")
  if (isAutoReply(plain.slice(0, READ_CHARACTERS).trimStart().toLowerCase())) return ''
  return withoutSignature(plain).replace(GREETINGS, ' . ')
}

const withoutSmallTalk = (message: string): string =>
  message
    .split(/(?<=[\n.!?。！？])/u)
    .filter((sentence) => !SMALL_TALK.test(sentence))
    .join('')

const isAutoReply = (start: string): boolean =>
  includesAny(start, noise.autoReplies) ||
  // Feedback can mention a holiday. An automatic reply also mentions a return, a deputy or urgent
  // matters.
  (includesAny(start, noise.absences) && includesAny(start, noise.returns)) ||
  // “Automatic reply: …” is noise, “The automatic reply feature …” is feedback.
  noise.subjects.some((phrase) => start.startsWith(phrase) && !/^ ?\p{L}/u.test(start.slice(phrase.length)))

const includesAny = (text: string, phrases: readonly string[]): boolean =>
  phrases.some((phrase) => text.includes(phrase))

const withoutSignature = (text: string): string => {
  for (const { index } of text.matchAll(CLOSINGS))
    if (text.length - index <= MAX_SIGNATURE_CHARACTERS) return text.slice(0, index)
  return text
}

/**
 * Matches any of the phrases at the start of a sentence or clause, after at most three spaces, so
 * that the time stays linear. A Latin letter after a phrase belongs to a longer word, unless the
 * phrase ends a line.
 */
const startPattern = (phrases: readonly string[]): RegExp => {
  const patterns = phrases.map((phrase) => phrase.replaceAll(/[.*+?^$()|[\]\\{}]/g, String.raw`\$&`))
  return new RegExp(
    String.raw`(?:^|[\n.!?,;。！？，、])\s{0,3}(?:${patterns.join('|')})(?:(?<=\n)|(?![a-zà-ÿ]))`,
    'giu',
  )
}

/** Matches whole words of Latin and Cyrillic script, and parts of words of other scripts. */
const SMALL_TALK = new RegExp(
  String.raw`(?<!\p{Script=Latin}|\p{Script=Cyrillic})(?:${noise.smallTalk.join('|')})(?!\p{Script=Latin}|\p{Script=Cyrillic})`,
  'iu',
)
const CLOSINGS = startPattern([...noise.closings, '--\n', '-- \n'])
const GREETINGS = startPattern(noise.greetings)
