import * as v from 'valibot'
import { isDateTime } from '../../contract/date-time.ts'
import type { ListRequest } from '../../db/reads/lists.ts'
import type { ListPlace } from '../../db/reads/records.ts'
import { isRefusal, type Refusal } from '../http/refusal.ts'
import { BAD_CURSOR, readCursor, writeCursor } from './cursor.ts'
import { readListQuery } from './look-ups.ts'
import { DEFAULT_LIMIT, LIST_PARAMETERS, readQuery } from './parameters.ts'
import { findDeclared } from './declared-fields.ts'
import { findRecord, type ReadContext, type ReadHandler, type Resource, withPermit } from './reads.ts'

/** A page of a resource. */
export const readMany =
  ({ kind, many }: Resource): ReadHandler =>
  async (context) => {
    const { workspaceId, dependencies, request } = context
    const query = readListQuery(request, kind, { hashKey: dependencies.hashKey, workspaceId })
    if (isRefusal(query)) return query
    const { limit = DEFAULT_LIMIT, order = 'newest', next, filters } = query
    const page = await readPage(context, { kind, limit, isOldestFirst: order === 'oldest', filters }, next)
    if (isRefusal(page)) return page
    const unknown = page.unknownWords && `,"unknownWords":${JSON.stringify(page.unknownWords)}`
    return { json: `{${JSON.stringify(many)}:[${page.records}],"next":${page.next}${unknown ?? ''}}` }
  }

/** A conversation with a page of its messages, by default the oldest first. */
export const readConversation =
  (id: string): ReadHandler =>
  async (context) => {
    const query = readQuery(context.request, LIST_PARAMETERS)
    if (isRefusal(query)) return query
    const { limit = DEFAULT_LIMIT, order = 'oldest', next } = query
    const conversation = await findRecord(context, 'conversation', id)
    if (isRefusal(conversation)) return conversation
    const filters = { conversationId: conversation.id }
    const page = await readPage(context, { kind: 'message', limit, isOldestFirst: order === 'oldest', filters }, next)
    if (isRefusal(page)) return page
    return { json: `{"conversation":${conversation.json},"messages":[${page.records}],"next":${page.next}}` }
  }

export type WantedPage = Pick<ListRequest, 'kind' | 'limit' | 'isOldestFirst' | 'filters'>

/** `records`: JSON texts with commas between. `next`: a JSON text. `unknownWords`: as in `ListPage`. */
export type Page = { records: string; next: string; unknownWords: string[] | undefined }

export const readPage = async (
  context: ReadContext,
  wanted: WantedPage,
  next: string | undefined,
): Promise<Page | Refusal> => {
  const { workspaceId, dependencies } = context
  const { limit: _, ...list } = wanted
  const after = next === undefined ? undefined : readCursor(next, placeInList, list)
  if (next !== undefined && after === undefined) return BAD_CURSOR
  const found = await findDeclared(context, wanted)
  if (isRefusal(found)) return found
  return withPermit(context, async () => {
    const page = await dependencies.readList({ ...wanted, ...found, workspaceId, after })
    return {
      records: page.records.join(),
      next: page.next ? JSON.stringify(writeCursor([page.next.at, page.next.id], list)) : 'null',
      unknownWords: page.unknownWords,
    }
  })
}

const placeInList = v.pipe(
  v.strictTuple([
    v.pipe(
      v.string(),
      v.regex(/^[\d-]{10} [\d:]{8}(?:\.\d{1,6})?$/),
      v.check((at) => isDateTime(`${at.replace(' ', 'T')}Z`)),
    ),
    v.pipe(v.string(), v.uuid()),
  ]),
  v.transform(([at, id]): ListPlace => ({ at, id })),
)
