import { ImportError } from './import-error.ts'
import { countBreaks, type Lines, type Remark } from './lines.ts'
import { isObject, parseExactly } from '../../runtime/exact-json.ts'
import type { TableRow } from './table-rows.ts'

/** A piece of the text that may be a record, as written. */
type Piece = { readonly lines: Lines; readonly text: string }

type JsonFile = {
  /** The form of the file, in words for a person. */
  readonly form: string
  readonly rows: () => Iterable<TableRow | Remark>
}

/**
 * Reads JSON of one of these forms: lines, an array, an object with one array, or one record. The
 * name of the file decides only if the content shows no form.
 *
 * @throws ImportError when neither shows a form, or an object has several arrays of records
 */
export const openJson = (path: string, text: string): JsonFile => {
  const { form, pieces } = piecesOf(path, text)
  return {
    form,
    rows: function* () {
      for (const piece of pieces()) yield rowOf(piece)
    },
  }
}

const rowOf = ({ lines, text }: Piece): TableRow | Remark => {
  if (text.trim() === '') return { lines: [lines], reasons: ['blank'], isSkipped: true }
  const value = parsed(text)
  if (value === undefined) return { lines: [lines], reasons: ['the record is not JSON'] }
  return isObject(value)
    ? { lines, cells: value, isRecord: true }
    : { lines: [lines], reasons: ['the record is not a JSON object'] }
}

const piecesOf = (path: string, text: string): { form: string; pieces: () => Iterable<Piece> } => {
  const opening = text.search(/[^\s\ufeff]/)
  const elements = text[opening] === '[' ? elementsOf(text, opening) : undefined
  if (elements !== undefined) return { form: 'an array of JSON', pieces: () => elements }
  const whole = parsed(text)
  if (isObject(whole)) return ofObject(path, text, whole)
  const isLines = text[opening] !== '[' && hasWholeLine(text)
  if (isLines || /\.(?:ndjson|jsonl)$/i.test(path)) return { form: 'lines of JSON', pieces: () => linesOf(text) }
  throw new ImportError(
    `${path} is not complete JSON: it must be an array, an object, or one record a line. No record was sent.`,
  )
}

const parsed = (text: string): unknown => {
  try {
    return parseExactly(text)
  } catch {
    return undefined
  }
}

/** The number of lines to try, since the first lines of a file can be malformed. */
const LINES_TRIED = 20

const hasWholeLine = (text: string): boolean => {
  let number = 0
  for (const line of linesOf(text)) {
    if (isObject(parsed(line.text))) return true
    if (++number === LINES_TRIED) break
  }
  return false
}

/** Arrays that are members of a record. */
const OWN_ARRAYS = ['contacts', 'messages']

/** An object is a record, or an envelope around records. */
const ofObject = (path: string, text: string, whole: Readonly<Record<string, unknown>>) => {
  const arrays = Object.keys(whole).filter((member) => {
    const value = whole[member]
    return Array.isArray(value) && value.length > 0 && value.every(isObject) && !OWN_ARRAYS.includes(member)
  })
  if (arrays.length > 1)
    throw new ImportError(
      `${path} has several arrays: ${arrays.join(', ')}. Make a file with the records of one of them.`,
    )
  const [member] = arrays
  const at = member === undefined ? -1 : startOfMember(text, member)
  const elements = at === -1 ? undefined : elementsOf(text, at)
  if (elements !== undefined) return { form: `the array ${member} in JSON`, pieces: () => elements }
  const lines = { from: 1, to: countBreaks(text.trimEnd()) + 1 }
  return { form: 'one record of JSON', pieces: () => [{ lines, text: text.trim() }] }
}

const linesOf = function* (text: string): Generator<Piece> {
  let line = 0
  // JSON allows U+2028 in texts, so it does not end a line.
  for (const { 0: written } of text.matchAll(/[^\r\n]*(?:\r\n|\n|\r|$)/g)) {
    line++
    const isEnd = written === ''
    if (!isEnd) yield { lines: { from: line, to: line }, text: written.replace(/^\ufeff/, '').replace(/[\r\n]+$/, '') }
  }
}

const MARK = /"(?:[^"\\]|\\[\s\S])*"?|[[\]{},]/g

type Mark = { readonly mark: string; readonly at: number; readonly depth: number }

/** The brackets, commas and whole strings from a place on. A bracket has the depth of what it encloses. */
const marksFrom = function* (text: string, place: number): Generator<Mark> {
  MARK.lastIndex = place
  let depth = 0
  for (const { 0: mark, index: at } of text.matchAll(MARK)) {
    if (mark === '[' || mark === '{') depth++
    yield { mark, at, depth }
    if (mark === ']' || mark === '}') depth--
  }
}

/** The place where an array that is a member of the outermost object begins. */
const startOfMember = (text: string, member: string): number => {
  for (const { mark, at, depth } of marksFrom(text, 0)) {
    const end = at + mark.length
    const isKey = depth === 1 && mark.startsWith('"') && /^\s*:\s*\[/.test(text.slice(end, end + 1_000))
    if (isKey && JSON.parse(mark) === member) return text.indexOf('[', end)
  }
  return -1
}

/**
 * The elements of the array that begins at a place. Undefined if the array does not end, or if
 * other text follows the outermost array. Elements are cut out without parsing them.
 */
const elementsOf = (text: string, opening: number): Piece[] | undefined => {
  const elements: Piece[] = []
  let start = opening + 1
  let line = 1 + countBreaks(text.slice(0, start))
  for (const { mark, at, depth } of marksFrom(text, opening)) {
    if (depth !== 1 || (mark !== ',' && mark !== ']')) continue
    const between = text.slice(start, at)
    const written = between.trim()
    const from = line + countBreaks(between.slice(0, between.indexOf(written)))
    if (written !== '') elements.push({ text: written, lines: { from, to: from + countBreaks(written) } })
    line += countBreaks(between)
    start = at + 1
    if (mark === ',') continue
    const isOutermost = text.slice(0, opening).trim() === ''
    return isOutermost && text.slice(start).trim() !== '' ? undefined : elements
  }
  return undefined
}
