import * as v from 'valibot'
import { feedbackFilters } from '../../contract/feedback-filters.ts'
import { findMatching } from '../../db/reads/matching.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import type { Change } from '../../db/reads/changes.ts'
import type { Webhook } from '../../db/webhooks.ts'
import { withHashes } from '../../tagger/searched-words.ts'

type Wanted = { change: Change; isHeld: boolean }

/**
 * The changes that a webhook posts: of its kinds, and feedback that matches its filter. Tombstones
 * match, since the receiver may have the record; a text of Slack cannot be taken back. `isHeld`: the
 * tagger has not read the feedback yet.
 */
export const chooseWanted = async (
  sql: Sql,
  { workspaceId, kinds, filter, holdUntilTagged, format }: Webhook,
  changes: readonly Change[],
): Promise<Wanted[]> => {
  const ofKinds = kinds === null ? changes : changes.filter(({ kind }) => kinds.includes(kind))
  const isFiltered = ({ kind, record }: Change): boolean =>
    filter !== null && kind === 'feedback' && record !== undefined
  const ids = ofKinds.filter(isFiltered).map(({ id }) => id)
  const filters = ids.length === 0 ? {} : withHashes(v.parse(feedbackFilters, filter))
  const matching = ids.length === 0 ? NONE : await findMatching(sql, { workspaceId, filters, ids })
  const wanted = ofKinds
    .filter(({ record }) => format !== 'slack' || record !== undefined)
    .filter((change) => !isFiltered(change) || matching.has(change.id))
  const unread = holdUntilTagged ? await findUnread(sql, workspaceId, wanted) : NONE
  return wanted.map((change) => ({ change, isHeld: unread.has(change.id) }))
}

const NONE: ReadonlySet<string> = new Set()

/** Feedback that the tagger has not read yet. */
const findUnread = async (sql: Sql, workspaceId: string, changes: readonly Change[]): Promise<ReadonlySet<string>> => {
  const ids = changes.filter(({ kind, record }) => kind === 'feedback' && record !== undefined).map(({ id }) => id)
  if (ids.length === 0) return NONE
  const rows = await sql<{ id: string }[]>`
    select id from feedback where workspace_id = ${workspaceId} and id = any (${ids}::uuid[]) and tagger_version is null`
  return new Set(rows.map(({ id }) => id))
}
