// Canonical forms and placeholders, for the model. A second implementation of the rules, which
// shares no code with the service.

const WORDS =
  'null|undefined|none|nil|nan|nat|n/a|na|n.a.|unknown|anonymous|guest|missing|not provided|not_authenticated|0|true|false'.split(
    '|',
  )

/** What a reader sees of a text: no format characters, and no white space around. */
const visible = (text: string): string =>
  Array.from(text)
    .filter((character) => !/\p{Cf}/u.test(character))
    .join('')
    .trim()

const saysSomething = (text: string): boolean => Array.from(text).some((character) => /\p{L}|\p{N}/u.test(character))

const MARKS: readonly (readonly [opening: string, closing: string, least: number])[] = [
  ['%', '%', 0],
  ['#', '#', 1],
  ['*|', '|*', 0],
]

/** The mark that opens at a place, and the place after its end. */
const endOfMarked = (text: string, at: number): number | undefined => {
  for (const [opening, closing, least] of MARKS) {
    if (!text.startsWith(opening, at)) continue
    const from = at + opening.length
    const end = text.indexOf(closing[0]!, from)
    if (end >= from + least && text.startsWith(closing, end)) return end + closing.length
  }
  return undefined
}

const withoutMarked = (text: string): string => {
  let rest = ''
  for (let at = 0; at < text.length;) {
    const end = endOfMarked(text, at)
    rest += end === undefined ? text[at]! : ''
    at = end ?? at + 1
  }
  return rest
}

/** The parts of a text outside of a kind of brackets. Undefined if the brackets are not balanced. */
const outside = (text: string, [opening, closing]: string): string[] | undefined => {
  const parts = ['']
  let open = 0
  for (const character of Array.from(text)) {
    if (character === closing && --open < 0) return undefined
    if (open === 0 && character !== closing && character !== opening) parts[parts.length - 1] += character
    if (character === opening && open++ === 0) parts.push('')
  }
  return open === 0 ? parts : undefined
}

/** Whether one pair of brackets holds the whole text. */
const isBracketed = (text: string, brackets: string): boolean => {
  if (!text.startsWith(brackets[0]!) || !text.endsWith(brackets[1]!)) return false
  let open = 0
  return Array.from(text.slice(0, -1)).every((character) => {
    open += character === brackets[0] ? 1 : character === brackets[1] ? -1 : 0
    return open > 0
  })
}

export const standsForNothing = (given: string): boolean => {
  const text = visible(given)
  const lower = lowerAscii(text)
  if (!saysSomething(text) || WORDS.includes(lower.replaceAll(/\s+/g, ' ')) || ['\\n', '\\\\n'].includes(lower))
    return true
  const [first, ...others] = Array.from(text)
  if (first === '#' && /\p{L}/u.test(others[0] ?? '') && (/[!?]$/.test(lower) || lower.endsWith('/a'))) {
    const name = others.slice(0, lower.endsWith('/a') ? others.length : -1)
    if (name.every((character) => /[\p{L}\d_/]/u.test(character))) return true
  }
  if (isBracketed(text, '<>') && isAddress(text.slice(1, -1))) return false
  if (/^\{[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}$/.test(lower)) return false
  if (['()', '[]', '<>', '{}'].some((brackets) => isBracketed(text, brackets))) return true
  return !saysSomething(withoutMarked(outside(text, '{}')?.join('') ?? text))
}

/** Of ASCII letters only: KELVIN SIGN is no k. */
const lowerAscii = (text: string): string =>
  Array.from(text, (character) => (character >= 'A' && character <= 'Z' ? character.toLowerCase() : character)).join('')

const isAddress = (text: string): boolean => {
  const parts = text.split('@')
  return parts.length === 2 && parts.every((part) => visible(part) !== '' && !standsForNothing(part))
}

/** The text of an email without what surrounds the address; undefined if it stands for nothing. */
export const emailText = (given: string): string | undefined => {
  const text = visible(given)
  const inBrackets = text.endsWith('>') && /^[^<>]*$/.test(text.slice(text.lastIndexOf('<') + 1, -1))
  let bare = inBrackets && text.includes('<') ? text.slice(text.lastIndexOf('<') + 1, -1).trim() : text
  while (bare.toLowerCase().startsWith('mailto:')) bare = bare.slice('mailto:'.length).trimStart()
  const form = (bare.includes('@') ? lowerAscii(bare) : bare).normalize('NFC')
  return standsForNothing(text) || standsForNothing(form) ? undefined : form
}

/** An email as a key: only an address is one. */
export const emailKey = (given: string): string | undefined => {
  const form = emailText(given)
  return form === undefined || !isAddress(form) ? undefined : form
}

export const nameKey = (given: string): string | undefined => {
  const name = visible(given).split(/\s+/u).join(' ').normalize('NFC')
  return standsForNothing(given) || standsForNothing(name) ? undefined : name
}

export const domainKey = (given: string): string | undefined => {
  const text = visible(given).normalize('NFC')
  const [, scheme, rest = text] = /^(https?:\/\/)(.*)$/is.exec(text) ?? []
  const authority = rest.split(/[/?#]/)[0]!
  let host = text
  if (scheme !== undefined || authority.includes('.')) {
    host = (scheme === undefined ? authority : authority.split('@').at(-1)!).trimStart()
    while (/[.:\s]$/.test(host)) host = host.slice(0, -1)
    const [, named, port] = /^([^:]*):(\d+)$/.exec(host) ?? []
    if (port !== undefined) host = named!
    while (/[.:\s]$/.test(host)) host = host.slice(0, -1)
  }
  if (host.includes('.')) {
    host = lowerAscii(host)
    for (let next = /^www\.\s*(.+)$/s.exec(host); next !== null; next = /^www\.\s*(.+)$/s.exec(host)) host = next[1]!
  }
  return standsForNothing(given) || standsForNothing(host) ? undefined : host
}
