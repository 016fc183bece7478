import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { JsonObject } from '../../contract/json.ts'
import { checkBody } from '../../contract/problem.ts'
import { buildBodies, type Submission } from './build-bodies.ts'
import { ImportError } from './import-error.ts'
import { RECORDS } from './kinds.ts'
import type { Mapping } from './mapping.ts'
import { type BadRow, type InputFile, isBadRow, readRows } from './read-rows.ts'

export type Survey = {
  readonly fileHash: string
  /** The number of submissions in the file. */
  readonly total: number
  readonly first: Submission | undefined
  /** Rows that make no submission. */
  readonly unreadable: readonly BadRow[]
}

/**
 * Reads the whole file before anything is sent.
 *
 * @throws ImportError when it is neither in UTF-8 nor (a CSV file) in UTF-16 with a mark, or when more than single rows are malformed
 */
export const surveyFile = async (file: InputFile, mapping: Mapping): Promise<Survey> => {
  const fileHash = await hashOf(file)
  const unreadable: BadRow[] = []
  let first: Submission | undefined
  let total = 0
  for await (const item of buildBodies(readRows(file), mapping)) {
    if (isBadRow(item)) unreadable.push(item)
    else {
      first ??= item
      total++
    }
  }
  return { fileHash, total, first, unreadable }
}

/** The submissions that the schemas of this version would refuse, with the reasons; the service is not asked. */
export const checkFile = async (file: InputFile, mapping: Mapping): Promise<BadRow[]> => {
  const refused: BadRow[] = []
  for await (const item of buildBodies(readRows(file), mapping)) {
    if (isBadRow(item)) refused.push(item)
    else {
      const checked = checkBody(RECORDS[mapping.kind].schema, JSON.parse(item.body) as JsonObject, {
        isStrict: true,
      })
      if ('problems' in checked)
        refused.push({ line: item.line, reasons: checked.problems.map(({ message }) => message) })
    }
  }
  return refused.sort((one, other) => one.line - other.line)
}

const hashOf = async ({ path, format }: InputFile): Promise<string> => {
  const hash = createHash('sha256')
  let decoder: TextDecoder | undefined
  let isFirst = true
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      const isUtf16 = format === 'csv' && chunk[0] === 0xff && chunk[1] === 0xfe
      if (isFirst && !isUtf16) decoder = new TextDecoder('utf-8', { fatal: true })
      isFirst = false
      decoder?.decode(chunk, { stream: true })
    }
    decoder?.decode()
  } catch (error) {
    if (error instanceof TypeError) {
      throw new ImportError(`${path} is not in UTF-8. Save it as UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8`)
    }
    throw error
  }
  return hash.digest('hex')
}
