import { writeFile } from 'node:fs/promises'
import { BASE_PATH } from './app.ts'
import { openApiDocument } from './openapi.ts'

const file = new URL('openapi.json', import.meta.url)
await writeFile(file, `${JSON.stringify(await openApiDocument(BASE_PATH), null, 2)}\n`)
