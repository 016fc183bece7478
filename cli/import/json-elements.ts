/** An element of a JSON array as it is written, and the line where it begins, from 1. */
export type Element = { readonly line: number; readonly text: string }

const STRING = /"(?:[^"\\]|\\[\s\S])*"?/y

/**
 * The elements of an array; undefined when the text is none. An element is cut out and not looked
 * into, so that numbers keep their digits.
 */
export const elementsOf = (text: string): Element[] | undefined => {
  const elements: Element[] = []
  const opening = text.search(/\S/)
  if (text[opening] !== '[') return undefined
  let line = 1 + countLines(text.slice(0, opening))
  let depth = 0
  let start: { at: number; line: number } | undefined
  const close = (at: number): void => {
    if (start) elements.push({ line: start.line, text: text.slice(start.at, at).trim() })
    start = undefined
  }
  for (let at = opening; at < text.length; at++) {
    const character = text[at]!
    if (character === '\n') line++
    if (/\s/.test(character)) continue
    if (depth === 0 && at > opening) return undefined
    if (depth === 1 && (character === ',' || character === ']')) close(at)
    else if (depth === 1) start ??= { at, line }
    if (character === '[' || character === '{') depth++
    else if (character === ']' || character === '}') depth--
    else if (character === '"') {
      STRING.lastIndex = at
      STRING.test(text)
      at = STRING.lastIndex - 1
    }
  }
  return depth === 0 ? elements : undefined
}

const countLines = (text: string): number => text.split('\n').length - 1
