import type { Theme } from '../../contract/record-schemas.ts'
import type { Figures } from '../../db/reads/counts.ts'
import { isRefusal, type Refusal } from '../http/refusal.ts'
import { readCountPage } from './counts.ts'
import { readPage } from './lists.ts'
import { DEFAULT_LIMIT, LIST_PARAMETERS, readQuery } from './parameters.ts'
import type { ReadContext, ReadHandler } from './reads.ts'

/** So many groups are read at once. */
const GROUPS = 500
const NONE: Figures = { feedback: 0, rated: 0, satisfaction: null, bad: null }

/** GET /themes: a page of the themes, each with the figures of its feedback. */
export const readThemes: ReadHandler = async (context) => {
  const query = readQuery(context.request, LIST_PARAMETERS)
  if (isRefusal(query)) return query
  const { limit = DEFAULT_LIMIT, order = 'newest', next } = query
  const page = await readPage(context, { kind: 'theme', limit, isOldestFirst: order === 'oldest', filters: {} }, next)
  if (isRefusal(page)) return page
  const figures = await figuresOfThemes(context)
  if (isRefusal(figures)) return figures
  const themes = JSON.parse(`[${page.records}]`) as Theme[]
  const counted = themes.map((theme) => ({ ...theme, ...(figures.get(theme.id) ?? NONE) }))
  return { json: `{"themes":${JSON.stringify(counted)},"next":${page.next}}` }
}

const figuresOfThemes = async (context: ReadContext): Promise<ReadonlyMap<string | null, Figures> | Refusal> => {
  const found = new Map<string | null, Figures>()
  let next: string | undefined
  do {
    const page = await readCountPage(context, { by: ['theme'], order: 'key', filters: {}, limit: GROUPS }, next)
    if (isRefusal(page)) return page
    for (const { keys, ...figures } of page.top) found.set(keys[0]!.key, figures)
    next = page.cursor ?? undefined
  } while (next !== undefined)
  return found
}
