import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { ImportError } from './import-error.ts'
import type { BadRow } from './read-rows.ts'

/** What makes two runs the same import. Hashes only: the journal has no content of the file. */
export type Subject = {
  readonly fileHash: string
  readonly mappingHash: string
  readonly url: string
}

/** What is settled, line by line: what a killed import did not write down is sent again, under the same key. */
export type Journal = {
  /** Lines of the submissions that are answered, with the reasons of those that were refused. */
  readonly settled: ReadonlyMap<number, readonly string[]>
  readonly note: (line: number, reasons?: readonly string[]) => void
  readonly close: () => void
}

type Entry = { line: number; refused?: string[] }

/**
 * Opens the journal of an import, or begins one.
 *
 * @throws ImportError when it is of another file, mapping or service: what was imported then is not known here.
 */
export const openJournal = (path: string, subject: Subject): Journal => {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
  const settled = new Map<number, readonly string[]>()
  for (const text of lines.slice(1)) {
    const entry = parse(text) as Entry | undefined
    if (entry !== undefined) settled.set(entry.line, entry.refused ?? [])
  }
  const former = parse(lines[0]) as Partial<Subject> | undefined
  // One of a run that came to nothing, with a wrong address perhaps, stands for no import.
  const isNew = lines.length === 0 || (former?.fileHash !== undefined && settled.size === 0)
  if (!isNew) checkSubject(path, former, subject)
  const file = openSync(path, isNew ? 'w' : 'a', 0o600)
  const append = (value: unknown): void => void writeSync(file, `${JSON.stringify(value)}\n`)
  if (isNew) append(subject)
  // The last line may be in part, when the machine went down: what follows begins a new one.
  else if (lines.at(-1) !== '') writeSync(file, '\n')
  return {
    settled,
    note: (line, reasons) => {
      settled.set(line, reasons ?? [])
      append(reasons === undefined ? { line } : { line, refused: reasons })
    },
    close: () => closeSync(file),
  }
}

const parse = (text: string | undefined): unknown => {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

const checkSubject = (path: string, former: Partial<Subject> | undefined, subject: Subject): void => {
  const changed = [
    ...(former?.fileHash === subject.fileHash ? [] : ['the file']),
    ...(former?.mappingHash === subject.mappingHash ? [] : ['the mapping']),
    ...(former?.url === subject.url ? [] : ['the service']),
  ]
  if (changed.length === 0) return
  throw new ImportError(
    `${path} is the journal of an import that began otherwise: ${changed.join(' and ')} changed. What it accepted would be ` +
      'submitted again. Go back to how it was, give another journal with --state, or delete this one to begin anew.',
  )
}

/** The refused lines, in the order of the file. */
export const refusedIn = ({ settled }: Journal): BadRow[] =>
  [...settled].flatMap(([line, reasons]) => (reasons.length === 0 ? [] : [{ line, reasons }]))
