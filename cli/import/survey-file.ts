import type { JsonObject } from '../../contract/json.ts'
import { checkBody } from '../../contract/problem.ts'
import { buildBodies, type Submission } from './build-bodies.ts'
import type { InputFile } from './input-file.ts'
import { RECORDS } from './kinds.ts'
import type { Mapping } from './mapping.ts'
import { type BadRow, isBadRow, readRows } from './read-rows.ts'

export type Survey = {
  /** The number of submissions in the file. */
  readonly total: number
  readonly first: Submission | undefined
  /** Rows that make no submission. */
  readonly unreadable: readonly BadRow[]
  /** What of single rows goes nowhere. */
  readonly dropped: readonly BadRow[]
}

/**
 * Reads the whole file before anything is sent.
 *
 * @throws ImportError when more than single rows are malformed
 */
export const surveyFile = async (file: InputFile, mapping: Mapping): Promise<Survey> => {
  const unreadable: BadRow[] = []
  const dropped: BadRow[] = []
  let first: Submission | undefined
  let total = 0
  for await (const item of buildBodies(readRows(file), mapping)) {
    if (isBadRow(item)) unreadable.push(item)
    else {
      first ??= item
      total++
      dropped.push(...item.dropped)
    }
  }
  return { total, first, unreadable, dropped }
}

/**
 * The submissions that the schemas of this version would refuse, with the reasons; the service is
 * not asked.
 */
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
