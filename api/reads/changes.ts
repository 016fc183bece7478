import type { Change, ChangesPage, FeedPlace } from '../../db/reads/changes.ts'
import { isRefusal, type Refusal } from '../http/refusal.ts'
import { waitSeconds } from '../http/request-headers.ts'
import { CHANGES_PARAMETERS, DEFAULT_LIMIT, readQuery } from './parameters.ts'
import { type ReadAnswer, type ReadContext, withPermit } from './reads.ts'

const LOOK_EVERY_MS = 250
const MS_PER_SECOND = 1_000
const START: FeedPlace = { position: 0, passSince: undefined }

/** GET /changes: the changes after a place. With `Prefer: wait`, waits while there are none. */
export const readFeed = async (context: ReadContext): Promise<ReadAnswer> => {
  const query = readQuery(context.request, CHANGES_PARAMETERS)
  if (isRefusal(query)) return query
  const { after = START, limit = DEFAULT_LIMIT } = query
  const seconds = waitSeconds(context.request.headers)
  const page = await waitForChanges(context, { after, limit }, (seconds ?? 0) * MS_PER_SECOND)
  if (isRefusal(page)) return page
  const json = `{"changes":[${page.changes.map(changeJson).join()}],"next":${JSON.stringify(placeText(page.next))}}`
  return {
    json,
    ...(seconds !== undefined && page.changes.length > 0 && { headers: { 'Preference-Applied': 'wait' } }),
  }
}

/** The first page that is not empty; after `waitMs`, also an empty page. */
const waitForChanges = async (
  context: ReadContext,
  wanted: { after: FeedPlace; limit: number },
  waitMs: number,
): Promise<Exclude<ChangesPage, 'expired'> | Refusal> => {
  const { workspaceId, dependencies, request } = context
  const until = performance.now() + waitMs
  for (;;) {
    const page = await withPermit(context, async () => {
      const found = await dependencies.readChanges(workspaceId, wanted)
      return found === 'expired' ? EXPIRED : found
    })
    const isOver = performance.now() >= until || dependencies.stop.aborted || request.signal.aborted
    if (isRefusal(page) || page.changes.length > 0 || isOver) return page
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}

const EXPIRED: Refusal = { refused: 'position-expired' }

const changeJson = ({ position, kind, id, record, mergedInto }: Change): string => {
  const head = `{"position":${position},"kind":"${kind}","id":"${id}","deleted":${record === undefined}`
  if (record !== undefined) return `${head},"record":${record}}`
  return mergedInto === undefined ? `${head}}` : `${head},"mergedInto":"${mergedInto}"}`
}

const placeText = ({ position, passSince }: FeedPlace): string =>
  passSince === undefined ? String(position) : `${position}-${passSince}`
