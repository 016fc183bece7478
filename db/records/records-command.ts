import { writeFileSync } from 'node:fs'
import { recordsSql } from './records-sql.ts'

// `npm run records`: writes db/functions/records.sql from contract/records/.

writeFileSync(new URL('../functions/records.sql', import.meta.url), recordsSql())
