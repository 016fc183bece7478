import type { Sql } from '../../db/connection/postgres.ts'
import { tag } from '../../worker/tagging/tagging.ts'
import type { PurgeRig } from './purge-rig.ts'
import { hashKey } from './schema.ts'

export type Found = {
  id: string
  mood: number | null
  kind: string | null
  theme: string | null
  theme_by: string | null
  similar_id: string | null
}

/** Texts about one subject, all of them different. */
export const BATTERY = ['on holiday', 'since the update', 'in the train', 'at night', 'after an hour', 'in winter'].map(
  (when) => `The battery is empty ${when}, which is terrible.`,
)

/** Submits texts, and reads what the tagger has found in them. */
export const meaningOf = (sql: Sql) => {
  const submit = async (rig: PurgeRig, texts: readonly string[], more: object = {}): Promise<string[]> => {
    const ids: string[] = []
    for (const description of texts) ids.push(await rig.feedback({ description, ...more }))
    await tagAll(rig)
    return ids
  }
  const tagAll = async ({ realm: { workspaceId } }: PurgeRig, isRetag = false): Promise<void> => {
    const idsOf = async (table: string): Promise<string[]> => {
      const rows = await sql<
        { id: string }[]
      >`select id from ${sql(table)} where workspace_id = ${workspaceId} order by number`
      return rows.map(({ id }) => id)
    }
    const [feedbackIds, conversationIds] = [await idsOf('feedback'), await idsOf('conversation')]
    await tag({ sql, hashKey }, { workspaceId, feedbackIds, conversationIds, isRetag })
  }
  const read = async ({ realm: { workspaceId } }: PurgeRig): Promise<Map<string, Found>> => {
    const rows = await sql<Found[]>`
      select id, mood, kind, theme_name as theme, theme_by, similar_id from feedback_view where workspace_id = ${workspaceId}`
    return new Map(rows.map((row) => [row.id, row]))
  }
  const correct = async (rig: PurgeRig, id: string, members: object): Promise<void> => {
    await rig.apply(rig.make('correct_feedback', { id, ...members }))
    await tagAll(rig)
  }
  return { submit, tagAll, read, correct }
}
