import process from 'node:process'
import { parseArgs } from 'node:util'
import { bypassProxies } from '../../runtime/bypass-proxies.ts'
import { codeOf } from '../../runtime/fault.ts'
import { pathOfCaller } from '../../runtime/path-of-caller.ts'
import { printable } from '../../runtime/printable.ts'
import { findService } from './find-service.ts'
import { ImportError } from './import-error.ts'
import { importFile } from './import-file.ts'
import { LAYOUTS } from './layouts.ts'
import { KINDS } from './kinds.ts'
import { type Mapping, type MappingOptions, planMapping } from './mapping.ts'
import { describePlan, describeSummary, describeRefused } from './report.ts'
import { openSource, type SourceFile } from './source-file.ts'
import { type Survey, surveyFile } from './survey.ts'

const DEFAULT_AT_ONCE = '8'
const MAX_AT_ONCE = 64

const USAGE = `usage: npm run import -- FILE [options]

FILE is a table (.csv, .tsv), or JSON: an array (.json) or lines (.ndjson, .jsonl).

--kind KIND          ${KINDS.join(', ')}; by default that of the layout, else feedback
--map column=field   the field that a column becomes; may be repeated. column= leaves the column out.
                     column=field:a|b makes a flag true for the cells a and b. column=tags:spaces splits
                     at spaces; also tags:commas, tags:bars and tags:semicolons
--map-value field cell=value
                     the value for a cell with this text, such as: --map-value rating Good=5
--set field=value    a value for every record without its own; may be repeated
--keep-rest          keep columns without a field as sourceData, properties or message.properties
--layout NAME        ${LAYOUTS.map(({ name }) => name).join(', ')}
                     or none; by default recognised by the columns
--delimiter CHAR     the character between columns, or the word tab; by default found in the rows
--skip-rows ROWS     leave out the first rows, such as 2, or the rows 2-3, counted from the top of the file
--encoding NAME      a label of the Encoding standard, such as shift_jis; by default found in the bytes
--utc                read date-times without an offset, and days, as UTC
--url URL            the service; by default FEEDBACK_URL, or the service that runs in DATA_DIR
--token TOKEN        a token of scope submit or admin; by default FEEDBACK_TOKEN, which other users of this machine
                     cannot see, or the access token of the service that runs in DATA_DIR
--state JOURNAL      the file that notes finished records, so that the same command continues; by default FILE.import
--at-once N          requests at a time, 1 to ${MAX_AT_ONCE}; by default ${DEFAULT_AT_ONCE}
                     1: one record at a time, in the order of the file
--dry-run            show the mapping and the records that would be refused, and send nothing

Exit code 0: all records were accepted. 1: a record was refused, or the import stopped or could not begin.
With --dry-run: 0 if all records would be accepted.`

const OPTIONS = {
  kind: { type: 'string' },
  map: { type: 'string', multiple: true, default: [] as string[] },
  'map-value': { type: 'string', multiple: true, default: [] as string[] },
  set: { type: 'string', multiple: true, default: [] as string[] },
  'keep-rest': { type: 'boolean', default: false },
  layout: { type: 'string' },
  delimiter: { type: 'string' },
  'skip-rows': { type: 'string' },
  encoding: { type: 'string' },
  utc: { type: 'boolean', default: false },
  url: { type: 'string' },
  token: { type: 'string' },
  state: { type: 'string' },
  'at-once': { type: 'string', default: DEFAULT_AT_ONCE },
  'dry-run': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

type OptionValues = ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>>['values'] &
  MappingOptions

const print = (lines: readonly string[]): void => {
  for (const line of lines) process.stdout.write(`${printable(line)}\n`)
}

const run = async (): Promise<number> => {
  const args = joinMapValues(process.argv.slice(2))
  const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true })
  if (values.help) {
    print([USAGE])
    return 0
  }
  const [path] = positionals
  if (path === undefined || positionals.length > 1) throw new ImportError(USAGE)
  const file = openSource(
    { path: pathOfCaller(path, process.env), shownAs: path },
    { ...values, skipRows: values['skip-rows'] },
  )
  const mapping = planMapping(file, values)
  const survey = surveyFile(file, mapping, values['dry-run'])
  print(describePlan(file, mapping, survey))
  if (!values['dry-run']) return submit({ file, mapping, survey, values })
  const refused = [...survey.unreadable, ...survey.refused]
  print([`${survey.total - survey.refused.length} would be accepted.`, ...describeRefused(refused, 'would be refused')])
  return refused.length === 0 ? 0 : 1
}

/** Joins the two words after `--map-value`, since the parser takes one word for an option. */
const joinMapValues = (words: readonly string[]): string[] => {
  const isField = (at: number): boolean => words[at - 1] === '--map-value' && !words[at]!.includes('=')
  return words.flatMap((word, at) => {
    if (isField(at - 1)) return []
    return isField(at) ? [words.slice(at, at + 2).join(' ')] : [word]
  })
}

type Submitting = { file: SourceFile; mapping: Mapping; survey: Survey; values: OptionValues }

const submit = async ({ file, mapping, survey, values }: Submitting): Promise<number> => {
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())
  const journalPath = pathOfCaller(values.state ?? `${file.path}.import`, process.env)
  const service = await findService(values, process.env)
  const summary = await importFile({
    file,
    mapping,
    total: survey.total,
    service,
    journalPath,
    atOnce: atOnceOf(values['at-once']),
    output: process.stdout,
    stop: stop.signal,
  })
  const refused = [...survey.unreadable, ...summary.refused]
  print(describeSummary({ ...summary, refused, skipped: survey.skipped, journalPath }))
  return refused.length === 0 && summary.left === 0 ? 0 : 1
}

const atOnceOf = (text: string): number => {
  const number = Number(text)
  if (Number.isInteger(number) && number >= 1 && number <= MAX_AT_ONCE) return number
  throw new ImportError(`--at-once must be a whole number from 1 to ${MAX_AT_ONCE}.`)
}

const printError = (error: unknown): number => {
  const isExplained = error instanceof ImportError || codeOf(error)?.startsWith('ERR_PARSE_ARGS')
  const detail = error instanceof Error ? error.message : String(error)
  process.stderr.write(`${printable(isExplained ? detail : `The import failed: ${detail}`)}\n`)
  return 1
}

bypassProxies(process.env)
const code = await run().catch(printError)
// Waits until the output is written. The requests under way of a stopped import are cut off.
await new Promise((resolve) => process.stdout.write('', resolve))
process.exit(code)
