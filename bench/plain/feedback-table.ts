import postgres from 'postgres'
import * as v from 'valibot'
import type { PlainConfig } from './config.ts'

const object = v.record(v.string(), v.unknown())

/** The checks of a plain handler. */
export const plainFeedback = v.object({
  description: v.string(),
  title: v.optional(v.nullable(v.string())),
  tags: v.optional(v.array(v.string())),
  contact: v.optional(object),
  account: v.optional(object),
  source: v.optional(v.string()),
  sourceId: v.optional(v.string()),
  rating: v.optional(v.number()),
})
export type PlainFeedback = v.InferOutput<typeof plainFeedback>

export const createPlainTable = async (sql: postgres.Sql): Promise<void> => {
  await sql`
    create table feedback (
      id uuid primary key,
      description text not null,
      title text,
      tags text[],
      contact jsonb,
      account jsonb,
      source text,
      source_id text,
      rating double precision,
      created_at timestamptz not null default now()
    )`
}

const CONNECTIONS = 20

export const connectPlain = ({ databaseUrl, schema }: PlainConfig): postgres.Sql =>
  postgres(databaseUrl, { max: CONNECTIONS, onnotice: () => {}, connection: { search_path: schema } })

/** Inserts one row for each call. A repeated delivery changes nothing. */
export const insertFeedback = async (sql: postgres.Sql, id: string, feedback: PlainFeedback): Promise<void> => {
  const { description, title, tags, contact, account, source, sourceId, rating } = feedback
  await sql`
    insert into feedback (id, description, title, tags, contact, account, source, source_id, rating)
    values (
      ${id}, ${description}, ${title ?? null}, ${tags ?? null}, ${contact ? sql.json(contact as postgres.JSONValue) : null},
      ${account ? sql.json(account as postgres.JSONValue) : null}, ${source ?? null}, ${sourceId ?? null}, ${rating ?? null}
    )
    on conflict (id) do nothing`
}
