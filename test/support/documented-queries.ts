import { readFileSync } from 'node:fs'
import { readmeCommands, statementsIn } from './readme-commands.ts'

const titleOf = (part: string): string => part.slice(0, part.indexOf('\n'))
const text = readFileSync(new URL('../../docs/queries.md', import.meta.url), 'utf8')
const named = text
  .split(/^## /m)
  .flatMap((part) => [...part.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(([, query = '']) => [titleOf(part), query]))
const withPsql = readmeCommands(text).flatMap(({ command }) =>
  statementsIn(command).map((query) => [`with psql: ${titleOf(query)}`, query]),
)

/** The queries of docs/queries.md, with their titles. */
export const DOCUMENTED_QUERIES: readonly (readonly [title: string, query: string])[] = [...named, ...withPsql].map(
  ([title = '', query = '']) => [title, query] as const,
)
