import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { SchemaElement } from 'hyparquet'
import { ParquetWriter } from 'hyparquet-writer'
import { fileWriter } from 'hyparquet-writer/src/node.js'
import { type Columns, type ColumnType, valuesOf } from './columns.ts'

export type Format = 'ndjson' | 'csv' | 'parquet'

/** Writes pages of records into an existing file, whose mode stays. */
type WriteFormat = (pages: AsyncIterable<readonly string[]>, to: string, columns: Columns) => Promise<void>

const asNdjson: WriteFormat = async (pages, to) => {
  const lines = async function* (): AsyncGenerator<string> {
    for await (const records of pages) yield records.map((record) => `${record}\n`).join('')
  }
  await pipeline(lines, createWriteStream(to))
}

/** Without this mark, Excel does not read a file as UTF-8. */
const BYTE_ORDER_MARK = '\uFEFF'

/** Writes the form of RFC 4180. Every value is in quotes, since values may contain line breaks. */
const asCsv: WriteFormat = async (pages, to, columns) => {
  const rows = async function* (): AsyncGenerator<string> {
    yield `${BYTE_ORDER_MARK}${Object.keys(columns).join()}\r\n`
    for await (const records of pages)
      yield records.map((record) => `${valuesOf(columns, record).map(cell).join()}\r\n`).join('')
  }
  await pipeline(rows, createWriteStream(to))
}

const cell = (value: string | undefined): string => (value === undefined ? '' : `"${value.replaceAll('"', '""')}"`)

const ROWS_OF_GROUP = 10_000
const CHARACTERS_OF_GROUP = 16 * 1024 * 1024

const asParquet: WriteFormat = async (pages, to, columns) => {
  const types = Object.entries(columns)
  const schema = [
    { name: 'root', num_children: types.length },
    ...types.flatMap(([name, type]) => schemaOf(name, type)),
  ]
  const writer = new ParquetWriter({ writer: fileWriter(to), schema })
  let rows: (string | undefined)[][] = []
  let characters = 0
  const writeGroup = async (): Promise<void> => {
    if (rows.length === 0) return
    const columnData = types.map(([name, type], at) => ({ name, data: rows.map((row) => parquetValue(row[at], type)) }))
    await writer.write({ columnData, rowGroupSize: ROWS_OF_GROUP })
    rows = []
    characters = 0
  }
  for await (const records of pages) {
    for (const record of records) {
      rows.push(valuesOf(columns, record))
      characters += record.length
      if (rows.length === ROWS_OF_GROUP || characters > CHARACTERS_OF_GROUP) await writeGroup()
    }
  }
  await writeGroup()
  await writer.finish()
}

const schemaOf = (name: string, type: ColumnType): SchemaElement[] => {
  if (type !== 'texts') return [{ name, ...PARQUET[type], repetition_type: 'OPTIONAL' }]
  return [
    { name, converted_type: 'LIST', repetition_type: 'OPTIONAL', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', ...PARQUET.text, repetition_type: 'REQUIRED' },
  ]
}

const PARQUET = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  number: { type: 'DOUBLE' },
  flag: { type: 'BOOLEAN' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
} as const satisfies Readonly<Record<Exclude<ColumnType, 'texts'>, object>>

type ParquetValue = string | number | boolean | bigint | string[] | undefined

const parquetValue = (value: string | undefined, type: ColumnType): ParquetValue => {
  if (value === undefined) return undefined
  switch (type) {
    case 'number':
      return Number(value)
    case 'flag':
      return value === 'true'
    case 'time':
      return microsecondsOf(value)
    case 'texts':
      return JSON.parse(value) as string[]
    case 'text':
    case 'json':
      return value
  }
}

/** The microseconds of a time such as `2026-01-31T09:30:00.123456Z`. */
const microsecondsOf = (time: string): bigint =>
  BigInt(Date.parse(`${time.slice(0, 19)}Z`)) * 1_000n + BigInt(time.slice(20, 26))

export const FORMATS: Readonly<Record<Format, WriteFormat>> = { ndjson: asNdjson, csv: asCsv, parquet: asParquet }
