import { writeFileSync } from 'node:fs'
import { printHelp } from '../../runtime/print-help.ts'
import { putKeysSql, putSql, readSql } from './records-sql.ts'

printHelp(`usage: npm run records
Writes db/functions/records-put.sql, keys-put.sql and records-read.sql from contract/records/.`)
const write = (name: string, text: string): void =>
  writeFileSync(new URL(`../functions/${name}`, import.meta.url), text)
write('records-put.sql', putSql())
write('keys-put.sql', putKeysSql())
write('records-read.sql', readSql())
