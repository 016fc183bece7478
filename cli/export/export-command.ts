import { Buffer } from 'node:buffer'
import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import process from 'node:process'
import * as v from 'valibot'
import { readAllRecords, RECORD_TABLES, type RecordKind } from '../../db/reads/records.ts'
import { DEFAULT_WORKSPACE } from '../../db/workspaces/workspaces.ts'
import { codeOf, isOfFile } from '../../runtime/fault.ts'
import { cannotWrite, findWorkspace, OWNER_ONLY } from '../option-values.ts'
import { startProgressBar } from '../progress-bar.ts'
import { CommandError, type CommandContext, pathOfCaller, print, runCommand } from '../run-command.ts'
import { columnsOf } from './columns.ts'
import { type Format, FORMATS } from './formats.ts'

const KINDS = Object.keys(RECORD_TABLES) as RecordKind[]

const USAGE = `usage: npm run export -- --format ndjson|csv|parquet --out FILE [--kind KIND] [--workspace NAME]

Writes all records of a kind into a file, in the order of their ids. KIND is one of
${KINDS.join(', ')}; by default feedback.
Without --workspace it exports ${DEFAULT_WORKSPACE}. An interrupted export continues where it stopped: run the same command
again. The same records give the same file.`

/** The progress of an export: its last record, and the bytes and records of the draft up to it. */
const progressFile = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({
    workspaceId: v.string(),
    kind: v.string(),
    after: v.optional(v.string()),
    bytes: v.number(),
    records: v.number(),
  }),
)
type ExportProgress = v.InferOutput<typeof progressFile>

type Export = { workspaceId: string; kind: RecordKind; draft: string; progressPath: string }

/**
 * Ignores a damaged file of progress, as after a loss of power. Also ignores progress without a
 * draft: an export may end between the rename of the draft and the removal of the progress.
 */
const readProgress = async ({ workspaceId, kind, draft, progressPath }: Export): Promise<ExportProgress> => {
  const begun = { workspaceId, kind, bytes: 0, records: 0 }
  const text = await readFile(progressPath, 'utf8').catch(() => undefined)
  const read = v.safeParse(progressFile, text)
  if (!read.success || read.output.workspaceId !== workspaceId || read.output.kind !== kind) return begun
  const size = await stat(draft).then(
    (file) => file.size,
    () => 0,
  )
  return size < read.output.bytes ? begun : read.output
}

const writeProgress = async (path: string, progress: ExportProgress): Promise<void> => {
  await writeFile(`${path}.new`, JSON.stringify(progress), { mode: OWNER_ONLY })
  await rename(`${path}.new`, path)
}

/** Appends the missing records to the draft. Returns the number of records in the draft. */
const writeDraft = async ({ sql }: CommandContext, exported: Export): Promise<number> => {
  const { workspaceId, kind, draft, progressPath } = exported
  let progress = await readProgress(exported)
  const [{ count }] = await sql<[{ count: number }]>`
    select count(*)::float8 as count from ${sql(RECORD_TABLES[kind])} where workspace_id = ${workspaceId}`
  const bar = startProgressBar({
    label: kind,
    total: Math.max(count, progress.records),
    output: process.stderr,
  })
  bar.set(progress.records)
  const file = await open(draft, 'a', OWNER_ONLY)
  try {
    await file.truncate(progress.bytes)
    for (;;) {
      const page = await readAllRecords(sql, { workspaceId, kind, after: progress.after })
      if (page.after === undefined) break
      const lines = page.records.map((record) => `${record}\n`).join('')
      await file.appendFile(lines)
      progress = {
        ...progress,
        after: page.after,
        bytes: progress.bytes + Buffer.byteLength(lines),
        records: progress.records + page.records.length,
      }
      await writeProgress(progressPath, progress)
      bar.set(progress.records)
    }
  } finally {
    await file.close()
  }
  bar.end()
  return progress.records
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
    const [draft, progressPath, whole] = [`${out}.part`, `${out}.part.json`, `${out}.whole`]
    try {
      const records = await writeDraft(context, { workspaceId: workspace.id, kind, draft, progressPath })
      const convert = FORMATS[format]
      await convert?.(draft, whole, columnsOf(kind))
      await rename(convert ? whole : draft, out)
      await Promise.all([draft, progressPath, whole].map((path) => rm(path, { force: true })))
      print(`${values['out']}: ${records} records`)
    } catch (error) {
      throw isOfFile(error) || codeOf(error) === 'ENOSPC' ? cannotWrite(out, error) : error
    }
  },
})
