import { Parser } from 'htmlparser2'

export const MAX_HTML_CHARACTERS = 40_000

/** Elements whose content is not displayed as text. */
const SILENT = new Set(['script', 'style', 'head', 'template', 'noscript', 'svg', 'math', 'iframe', 'object'])

/** Elements inside a phrase. Any other element ends the phrase, even an unknown element. */
const INLINE = new Set(
  'a abbr acronym b bdi bdo big cite del dfn em font i ins label mark q s small span strike strong sub sup tt u wbr'.split(
    ' ',
  ),
)

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

/** After a `<` without a later `>`, the parser would drop the rest of the text. */
const escapeOpenEnd = (text: string): string => {
  const end = text.lastIndexOf('>') + 1
  return text.slice(0, end) + text.slice(end).replaceAll('<', '&lt;')
}
