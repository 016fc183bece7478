import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { goPastProxies } from '../../process/past-proxies.ts'
import { printable } from '../../process/printable.ts'
import { findService, type Service } from './find-service.ts'
import { ImportError } from './import-error.ts'
import { importFile } from './import-file.ts'
import { type Kind, KINDS } from './kinds.ts'
import { type Layout, LAYOUTS } from './layouts.ts'
import { createMapping, describeMapping, type Mapping } from './mapping.ts'
import { describeFile, findInputFile, type InputFile } from './input-file.ts'
import { type BadRow, readColumns } from './read-rows.ts'
import { checkFile, type Survey, surveyFile } from './survey-file.ts'

const USAGE = `usage: npm run import -- FILE [options]

FILE is a table (.csv, .tsv), an array (.json) or lines (.ndjson, .jsonl).

--kind KIND          ${KINDS.join(', ')}; feedback if the layout says nothing else
--map column=field   which field a column becomes; may be repeated. column= leaves it out, and
                     column=field:a|b makes a flag true for the cells a and b; column=tags:spaces splits
                     at spaces (commas, bars, semicolons)
--map-value field cell=value
                     takes the value where the cell is this, such as: --map-value rating Good=5
--set field=value    the same for every record; may be repeated
--keep-rest          keep columns without a field as sourceData, properties or message.properties
--layout NAME        ${LAYOUTS.map(({ name }) => name).join(', ')} or none; recognised by the columns
--delimiter CHAR     what separates columns, or the word tab; found in the first line if not given
--encoding NAME      utf-8, utf-16le, utf-16be or windows-1252; found in the file if not given
--utc                date-times without an offset, and days, are UTC
--url URL            the service; FEEDBACK_URL, or the one that runs in DATA_DIR
--token TOKEN        with scope submit or admin; better in FEEDBACK_TOKEN, since others see what commands are called with
--state FILE         journal of finished lines; FILE.import if not given. The same command goes on from there
--at-once N          requests at a time, 1 to 64; 8. With 1 everything goes by itself, in the order of the file
--dry-run            show the mapping and what would be refused, and send nothing

Exit code 0: all accepted. 1: something was refused, or it could not begin or go on.`

const OPTIONS = {
  kind: { type: 'string' },
  map: { type: 'string', multiple: true, default: [] as string[] },
  'map-value': { type: 'string', multiple: true, default: [] as string[] },
  set: { type: 'string', multiple: true, default: [] as string[] },
  'keep-rest': { type: 'boolean', default: false },
  layout: { type: 'string' },
  delimiter: { type: 'string' },
  encoding: { type: 'string' },
  utc: { type: 'boolean', default: false },
  url: { type: 'string' },
  token: { type: 'string' },
  state: { type: 'string' },
  'at-once': { type: 'string', default: '8' },
  'dry-run': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const
const MAX_AT_ONCE = 64
const MAX_LISTED = 1_000

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>>['values']

const print = (line: string): void => void process.stdout.write(`${printable(line)}\n`)

const run = async (): Promise<number> => {
  const { values, positionals } = parseArgs({
    args: joinedMapValues(process.argv.slice(2)),
    options: OPTIONS,
    allowPositionals: true,
  })
  if (values.help) {
    print(USAGE)
    return 0
  }
  const [path] = positionals
  if (path === undefined || positionals.length > 1) throw new ImportError(USAGE)
  const file = await findInputFile(path, values)
  const mapping = await mappingOf(file, values)
  const survey = await surveyFile(file, mapping)
  describePlan(file, mapping, survey)
  if (values['dry-run']) return reportRefused(await checkFile(file, mapping), 'would be refused')
  return submit({ file, mapping, survey, values })
}

/** `--map-value rating Good=5` as one word, which the parser of arguments expects. */
const joinedMapValues = ([word, field, pair, ...rest]: readonly string[]): string[] => {
  if (word === undefined) return []
  if (word === '--map-value' && field !== undefined && pair !== undefined && !field.includes('='))
    return [word, `${field} ${pair}`, ...joinedMapValues(rest)]
  return [word, ...joinedMapValues([field, pair, ...rest].filter((other) => other !== undefined))]
}

const mappingOf = async (file: InputFile, values: Values): Promise<Mapping> => {
  // NDJSON has no columns to recognise: its members have the service's names, unless --map renames
  // some.
  const columns =
    file.format === 'csv' ? await readColumns(file) : values.map.map((text) => text.slice(0, text.lastIndexOf('=')))
  const kind = kindOf(values.kind)
  const layout = file.format === 'csv' ? layoutOf(values.layout, columns, kind) : undefined
  return createMapping({
    kind: kind ?? layout?.kind ?? 'feedback',
    layout,
    columns: [...new Set(columns)],
    map: values.map,
    mapValue: values['map-value'],
    set: values.set,
    keepRest: values['keep-rest'],
    utc: values.utc,
  })
}

const kindOf = (name: string | undefined): Kind | undefined => {
  const kind = KINDS.find((known) => known === name)
  if (name !== undefined && kind === undefined) throw new ImportError(`--kind must be one of ${KINDS.join(', ')}.`)
  return kind
}

const layoutOf = (name: string | undefined, columns: readonly string[], kind: Kind | undefined): Layout | undefined => {
  if (name === 'none') return undefined
  if (name === undefined) {
    const known = LAYOUTS.find((layout) => layout.columns.every((column) => columns.includes(column)))
    return kind === undefined || known?.kind === kind ? known : undefined
  }
  const layout = LAYOUTS.find((known) => known.name === name)
  if (layout === undefined) {
    throw new ImportError(`--layout must be one of ${LAYOUTS.map((known) => known.name).join(', ')}, none.`)
  }
  if (kind !== undefined && kind !== layout.kind) throw new ImportError(`${name} has ${layout.kind}, not ${kind}.`)
  return layout
}

const describePlan = (file: InputFile, mapping: Mapping, { total, first, unreadable, dropped }: Survey): void => {
  print(
    `${file.path}: ${total} ${mapping.kind}${unreadable.length === 0 ? '' : `, ${unreadable.length} unreadable rows`}`,
  )
  print(`  ${describeFile(file)}`)
  for (const line of describeMapping(mapping)) print(line)
  if (first !== undefined) print(`The first, of line ${first.line}:\n  ${first.body}`)
  listRows(dropped, 'rows with a value that goes nowhere')
}

type Submitting = { file: InputFile; mapping: Mapping; survey: Survey; values: Values }

const submit = async ({ file, mapping, survey, values }: Submitting): Promise<number> => {
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())
  const journalPath = values.state ?? `${file.path}.import`
  const summary = await importFile({
    file,
    mapping,
    survey,
    service: await serviceOf(values),
    journalPath,
    atOnce: atOnceOf(values['at-once']),
    output: process.stdout,
    now: Date.now,
    wait: (ms) => pause(ms, undefined, { signal: stop.signal }),
    stop: stop.signal,
  })
  const { accepted, before, refused, left } = summary
  print(`${accepted} accepted${before === 0 ? '' : `, ${before} of them before`}; ${refused.length} refused.`)
  if (before > 0 && accepted === before && left === 0) {
    print(`Nothing was left to do: the journal ${journalPath} has all lines. Delete it to import the file once more.`)
  }
  const code = reportRefused(refused, 'refused')
  if (left === 0) return code
  print(`Stopped: ${left} are left. Run the same command again to go on.`)
  return 1
}

const serviceOf = async ({ url, token }: Values): Promise<Service> => {
  const found = await findService({ environment: process.env, url, token })
  if (found.url === undefined) {
    throw new ImportError('No service runs here: start it with `npm start`, or say with --url where it is.')
  }
  if (!/^https?:\/\//.test(found.url) || !URL.canParse(found.url)) {
    throw new ImportError('--url must be an address such as https://feedback.example.com')
  }
  if (found.token === undefined) throw new ImportError('A token is needed: --token, or FEEDBACK_TOKEN.')
  return { url: found.url, token: found.token }
}

const atOnceOf = (text: string): number => {
  const number = Number(text)
  if (Number.isInteger(number) && number >= 1 && number <= MAX_AT_ONCE) return number
  throw new ImportError(`--at-once must be a whole number from 1 to ${MAX_AT_ONCE}.`)
}

const reportRefused = (refused: readonly BadRow[], what: string): number => {
  listRows(refused, what)
  return refused.length === 0 ? 0 : 1
}

const listRows = (rows: readonly BadRow[], what: string): void => {
  if (rows.length > 0) print(`\n${rows.length} ${what}:`)
  for (const { line, reasons } of rows.slice(0, MAX_LISTED)) print(`  line ${line}: ${reasons.join('; ')}`)
  if (rows.length > MAX_LISTED) print(`  and ${rows.length - MAX_LISTED} more`)
}

const explain = (error: unknown): number => {
  const isOurs = error instanceof ImportError || (error instanceof TypeError && 'code' in error)
  const detail = error instanceof Error ? error.message : String(error)
  process.stderr.write(`${printable(isOurs ? detail : `The import failed: ${detail}`)}\n`)
  return 1
}

goPastProxies(process.env)
process.exitCode = await run().catch(explain)
