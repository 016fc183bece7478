import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { ImportError } from './import-error.ts'

/** Two runs with the same subject are the same import, even if the rows of the file differ. */
type ImportSubject = { readonly mappingHash: string; readonly url: string }

/**
 * The answered submissions by their keys, which are hashes. If a killed import did not record a
 * submission, the next run sends it again under its key.
 */
export type Journal = {
  /**
   * By the key of an answered submission, the reasons of its refusal, or none if it was accepted.
   */
  readonly answered: ReadonlyMap<string, readonly string[]>
  readonly note: (key: string, reasons: readonly string[]) => void
  readonly close: () => void
}

type JournalLine = { readonly key?: string; readonly refused?: readonly string[] }

/**
 * Opens the journal of an import, or begins one.
 *
 * @throws ImportError when the journal is of another mapping or service, or cannot be used
 */
export const openJournal = (path: string, subject: ImportSubject): Journal => {
  const lines = linesOf(path)
  const answered = new Map<string, readonly string[]>()
  for (const text of lines.slice(1)) {
    const { key, refused = [] } = parse(text) as JournalLine
    if (key !== undefined) answered.set(key, refused)
  }
  const former = parse(lines[0]) as Partial<ImportSubject>
  // A journal without an answered submission starts again, for example after a wrong address. So
  // does a file with only the beginning of the line of this subject, for example after a full disk.
  const isCut = lines.length <= 1 && JSON.stringify(subject).startsWith(lines[0] ?? '')
  const isNew = isCut || (former.mappingHash !== undefined && answered.size === 0)
  if (!isNew) checkSubject(path, former, subject)
  const file = open(path, isNew ? 'w' : 'a')
  const append = (value: unknown): void => void writeSync(file, `${JSON.stringify(value)}\n`)
  if (isNew) append(subject)
  // After a crash of the machine the last line may be incomplete, so the next entry begins a new
  // line.
  else if (lines.at(-1) !== '') writeSync(file, '\n')
  return {
    answered,
    note: (key, refused) => {
      answered.set(key, refused)
      append(refused.length === 0 ? { key } : { key, refused })
    },
    close: () => closeSync(file),
  }
}

const linesOf = (path: string): string[] => {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw unusable(path, error)
  }
}

const open = (path: string, flags: string): number => {
  try {
    return openSync(path, flags, 0o600)
  } catch (error) {
    throw unusable(path, error)
  }
}

const unusable = (path: string, cause: unknown): ImportError => {
  const { code } = cause as NodeJS.ErrnoException
  return new ImportError(`The journal ${path} cannot be used (${code}). Name another file with --state.`, { cause })
}

const parse = (text: string | undefined): object => {
  try {
    return (JSON.parse(text ?? '') as object | null) ?? {}
  } catch {
    return {}
  }
}

const checkSubject = (path: string, former: Partial<ImportSubject>, subject: ImportSubject): void => {
  const changed = [
    ...(former.mappingHash === subject.mappingHash ? [] : ['the mapping']),
    ...(former.url === subject.url ? [] : ['the service']),
  ]
  if (changed.length === 0) return
  throw new ImportError(
    `${path} is the journal of another import: ${changed.join(' and ')} changed. Its accepted records would be ` +
      'submitted again. Run the import as before, name another journal with --state, or delete this one to start again.',
  )
}
