import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { printHelp } from '../../runtime/print-help.ts'
import { BASE_PATH } from '../app.ts'
import { openApiDocument } from './openapi.ts'

printHelp(`usage: npm run openapi
Writes api/openapi/openapi.json, the description of the interface.`)
const file = fileURLToPath(new URL('openapi.json', import.meta.url))
const text = JSON.stringify(await openApiDocument(BASE_PATH), undefined, 2)
await writeFile(file, await format(text, { ...(await resolveConfig(file)), filepath: file }))
