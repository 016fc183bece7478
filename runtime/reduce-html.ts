import { Parser } from 'htmlparser2'

export const MAX_HTML_CHARACTERS = 40_000

/** Elements whose content is not displayed as text. */
const SILENT = new Set(['script', 'style', 'head', 'template', 'noscript', 'svg', 'math', 'iframe', 'object'])

const wordsOf = (text: string): Set<string> => new Set(text.split(' '))

/** Elements inside a phrase. Any other element ends the phrase, even an unknown element. */
const INLINE = wordsOf(
  'a abbr acronym b bdi bdo big cite del dfn em font i ins label mark q s small span strike strong sub sup tt u wbr',
)

/** The other elements of texts that people write or send by email. */
const BLOCKS = wordsOf(
  'address article aside blockquote body br button caption center code col colgroup dd details div dl dt fieldset figcaption ' +
    'figure footer form h1 h2 h3 h4 h5 h6 header hr html img input kbd li link main meta nav ol option p param picture pre ' +
    'samp section select source summary table tbody td tfoot th thead tr ul var video',
)

/** Elements that take all text up to their end, so that without an end the text would be lost. */
const CLOSED = new Set([...SILENT, 'title', 'textarea'])

/**
 * The first part of a text, which suffices to choose its tags. It ends before markup that the cut
 * splits.
 */
export const cutHtml = (text: string): string => {
  if (text.length <= MAX_HTML_CHARACTERS) return text
  const read = text.slice(0, MAX_HTML_CHARACTERS)
  const tail = read.lastIndexOf('>') + 1
  const open = read.slice(tail).search(/<[a-z!/?]/i)
  return open < 0 ? read : read.slice(0, tail + open)
}

/**
 * Reduces plain text or HTML to plain text: decodes entities, puts each block on a line of its
 * own, and drops silent elements.
 */
export const reduceHtml = (text: string): string => {
  const parts: string[] = []
  let isHtml = false
  let silentDepth = 0
  const parser = new Parser({
    onopentagname(name) {
      isHtml = true
      if (SILENT.has(name)) silentDepth++
      if (!INLINE.has(name)) parts.push('\u2028')
    },
    onclosetag(name) {
      if (SILENT.has(name)) silentDepth--
      if (!INLINE.has(name)) parts.push('\u2028')
    },
    ontext(data) {
      if (silentDepth === 0) parts.push(data)
    },
  })
  parser.write(escapeOpenEnd(text))
  parser.end()
  const reduced = parts.join('')
  // In HTML a line break is white space; in plain text it ends a phrase.
  return (isHtml ? reduced.replace(/[\r\n]/g, ' ') : reduced).replaceAll('\u2028', '\n')
}

/** A tag, the begin of a comment, a declaration, or a `<` alone. */
const MARKUP = /<(?:\/?([a-z][a-z0-9:]*)(?=[\s/>])[^<>]*>|(!--)|[!?][a-z[][^<>]*>)?/gi
/** An ampersand that begins no entity, as in an address. */
const AMPERSAND = /&(?!(?:[a-z][a-z0-9]{1,31}|#\d{1,7}|#x[\da-f]{1,6});)/gi

/**
 * A text as a person reads it: as `reduceHtml`, but what only looks like markup stays, such as
 * `List<String>` and `<name@example.org>`. Markup without any text stays as well.
 */
export const htmlAsText = (text: string): string => {
  if (!/[<&]/.test(text)) return text
  const read = cutHtml(text).replaceAll(AMPERSAND, '&amp;')
  const lastPlace = createLastPlace(read)
  const found = [...read.matchAll(MARKUP)]
  const stray = found.filter((match) => !isMarkup(match, lastPlace))
  const ends = [...stray.map(({ index }) => index), read.length]
  const escaped = ends.map((end, at) => read.slice(at === 0 ? 0 : ends[at - 1]! + 1, end)).join('&lt;')
  const reduced = reduceHtml(escaped)
  if (stray.length === found.length) return reduced
  const lines = reduced.split('\n').map((line) => line.replaceAll(/\s+/g, ' ').trim())
  return lines.filter((line) => line !== '').join('\n') || text
}

type LastPlace = (part: string) => number

/** The last place of a part in a text, in upper or lower case. Looks once for each part. */
const createLastPlace = (text: string): LastPlace => {
  // With `toLowerCase` alone, some letters become two.
  const lower = text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
  const places = new Map<string, number>()
  return (part) => {
    if (!places.has(part)) places.set(part, lower.lastIndexOf(part))
    return places.get(part)!
  }
}

const isMarkup = (match: RegExpExecArray, lastPlace: LastPlace): boolean => {
  const [found, name, comment] = match
  if (found === '<') return false
  if (comment !== undefined) return match.index < lastPlace('-->')
  const element = name?.toLowerCase()
  if (element === undefined || element.includes(':')) return true
  if (CLOSED.has(element)) return found.startsWith('</') || match.index < lastPlace(`</${element}`)
  return INLINE.has(element) || BLOCKS.has(element)
}

/** After a `<` without a later `>`, the parser would drop the rest of the text. */
const escapeOpenEnd = (text: string): string => {
  const end = text.lastIndexOf('>') + 1
  return text.slice(0, end) + text.slice(end).replaceAll('<', '&lt;')
}
