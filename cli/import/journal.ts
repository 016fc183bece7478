import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { ImportError } from './import-error.ts'
import type { BadRow } from './read-rows.ts'

/**
 * Two runs with the same subject are the same import. It has hashes, so that the journal keeps no
 * content of the file.
 */
export type Subject = {
  readonly fileHash: string
  readonly mappingHash: string
  readonly url: string
}

/**
 * The settled submissions, line by line. A submission that a killed import did not write down is
 * sent again under its key.
 */
export type Journal = {
  /** The line of each answered submission, with the reasons when it was refused, else with none. */
  readonly settled: ReadonlyMap<number, readonly string[]>
  readonly note: (line: number, reasons?: readonly string[]) => void
  readonly close: () => void
}

type Entry = { line: number; refused?: string[] }

/**
 * Opens the journal of an import, or begins one.
 *
 * @throws ImportError when the journal is of another file, mapping or service: it does not tell
 * what this import has done.
 */
export const openJournal = (path: string, subject: Subject): Journal => {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
  const settled = new Map<number, readonly string[]>()
  for (const text of lines.slice(1)) {
    const entry = parse(text) as Entry | undefined
    if (entry !== undefined) settled.set(entry.line, entry.refused ?? [])
  }
  const former = parse(lines[0]) as Partial<Subject> | undefined
  // A journal without a settled line, of a run with a wrong address perhaps, starts again.
  const isNew = lines.length === 0 || (former?.fileHash !== undefined && settled.size === 0)
  if (!isNew) checkSubject(path, former, subject)
  const file = openSync(path, isNew ? 'w' : 'a', 0o600)
  const append = (value: unknown): void => void writeSync(file, `${JSON.stringify(value)}\n`)
  if (isNew) append(subject)
  // When the machine went down, the last line may be incomplete: the next entry begins a new line.
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
      'submitted again. Go back to how it was, give another journal with --state, or delete this one to start again.',
  )
}

/** The refused lines, in the order of the file. */
export const refusedIn = ({ settled }: Journal): BadRow[] =>
  [...settled].flatMap(([line, reasons]) => (reasons.length === 0 ? [] : [{ line, reasons }]))
