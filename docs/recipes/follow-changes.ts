import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { createClient, type Feedback, RequestError } from 'feedback-insights-client'

const { FEEDBACK_URL: url = '', READ_TOKEN: token = '', CSV_FILE: file = 'feedback.csv' } = process.env
const COLUMNS = [
  'id',
  'createdAt',
  'source',
  'rating',
  'customerId',
  'accountId',
  'tags',
  'title',
  'description',
] as const
const LIMIT = 500
const ROW = /"(?:[^"]|"")*"(?:,"(?:[^"]|"")*")*\n/g

const rowOf = (cells: readonly Feedback[keyof Feedback][]): string =>
  `${cells.map((cell) => `"${textOf(cell).replaceAll('"', '""')}"`).join()}\n`
const textOf = (cell: Feedback[keyof Feedback]): string =>
  typeof cell === 'object' ? JSON.stringify(cell) : String(cell ?? '')
/** Replaces a file atomically. Only its owner may read texts of customers. */
const replace = (path: string, text: string): void => {
  writeFileSync(`${path}.new`, text, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}
const read = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '')

const client = createClient({ url, token })
let after = existsSync(file) ? read(`${file}.next`) : ''
const known = after === '' ? [] : (read(file).match(ROW) ?? []).slice(1)
const rows = new Map(known.map((row) => [row.slice(1, row.indexOf('"', 1)), row]))
for (let isChanged = true; ;) {
  const page = await client
    .listChanges({ after: after || null, limit: LIMIT, waitSeconds: isChanged ? undefined : 30 })
    .catch((error: unknown) => {
      // 410: the program was away for longer than tombstones are stored. It starts from the
      // beginning.
      if (!(error instanceof RequestError) || error.status !== 410) throw error
      rows.clear()
      isChanged = true
      return { changes: [], next: '' }
    })
  for (const { kind, id, record } of page.changes) {
    if (kind !== 'feedback') continue
    isChanged = true
    if (record === undefined) rows.delete(id)
    else rows.set(id, rowOf(COLUMNS.map((column) => record[column])))
  }
  const isMore = page.changes.length === LIMIT || page.next === ''
  if (!isMore && isChanged) {
    replace(file, rowOf(COLUMNS) + [...rows.values()].join(''))
    isChanged = false
    console.log(`${rows.size} feedback in ${file}`)
  }
  // `next` is written last: after a crash, the same changes come again and change nothing.
  if (!isMore) replace(`${file}.next`, page.next)
  after = page.next
}
