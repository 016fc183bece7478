import process from 'node:process'
import type { RecordKind } from '../../contract/record-schemas.ts'
import { readAllRecords, RECORD_TABLES } from '../../db/reads/records.ts'
import { DEFAULT_WORKSPACE } from '../../db/workspaces/workspaces.ts'
import { codeOf, isOfFile } from '../../runtime/fault.ts'
import { cannotWrite, findWorkspace } from '../option-values.ts'
import { startProgressBar } from '../progress-bar.ts'
import { CommandError, type CommandContext, pathOfCaller, print, runCommand } from '../run-command.ts'
import { writeWhole } from '../write-whole.ts'
import { columnsOf } from './columns.ts'
import { type Format, FORMATS } from './formats.ts'

const KINDS = Object.keys(RECORD_TABLES) as RecordKind[]

const USAGE = `usage: npm run export -- --format ndjson|csv|parquet --out FILE [--kind KIND] [--workspace NAME]

Writes all records of a kind into a file, in the order of their ids. KIND is one of
${KINDS.join(', ')}; by default feedback.
Without --workspace it exports ${DEFAULT_WORKSPACE}. The same records give the same file.
Only its owner may read the file. A later purge does not reach it: delete it after use, and export again.
An interrupted export begins again: its draft, FILE.part, is removed. CSV is UTF-8 with a byte order mark, as Excel needs it.`

type Exported = { workspaceId: string; kind: RecordKind }

/** All records of a kind, in pages. `onPage` gets the number of records so far. */
const readPages = async function* (
  { sql }: CommandContext,
  exported: Exported,
  onPage: (records: number) => void,
): AsyncGenerator<string[]> {
  let after: string | undefined
  let records = 0
  for (;;) {
    const page = await readAllRecords(sql, { ...exported, after })
    if (page.after === undefined) return
    after = page.after
    records += page.records.length
    yield page.records
    onPage(records)
  }
}

const countRecords = async ({ sql }: CommandContext, { workspaceId, kind }: Exported): Promise<number> => {
  const [{ count }] = await sql<[{ count: number }]>`
    select count(*)::float8 as count from ${sql(RECORD_TABLES[kind])} where workspace_id = ${workspaceId}`
  return count
}

const formatOf = (text: string | undefined): Format => {
  if (text === undefined || !Object.hasOwn(FORMATS, text))
    throw new CommandError(`--format must be one of ${Object.keys(FORMATS).join(', ')}.`)
  return text as Format
}

const kindOf = (text = 'feedback'): RecordKind => {
  const kind = KINDS.find((known) => known === text)
  if (kind === undefined) throw new CommandError(`--kind must be one of ${KINDS.join(', ')}.`)
  return kind
}

await runCommand({
  usage: USAGE,
  isReadOnly: true,
  options: ['format', 'out', 'kind', 'workspace'],
  run: async (context) => {
    const { values, sql } = context
    if (!values['out']) throw new CommandError(USAGE)
    const [format, kind] = [formatOf(values['format']), kindOf(values['kind'])]
    const out = pathOfCaller(values['out'])
    const workspace = await findWorkspace(sql, values['workspace'] ?? DEFAULT_WORKSPACE)
    const exported = { workspaceId: workspace.id, kind }
    const total = await countRecords(context, exported)
    const bar = startProgressBar({ label: kind, total, output: process.stderr })
    let records = 0
    const pages = readPages(context, exported, (done) => bar.set((records = done)))
    await writeWhole(out, (draft) => FORMATS[format](pages, draft, columnsOf(kind))).catch((error: unknown) => {
      throw isOfFile(error) || codeOf(error) === 'ENOSPC' ? cannotWrite(out, error) : error
    })
    bar.end()
    print(`${values['out']}: ${records} records`)
  },
})
