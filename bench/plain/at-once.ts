import { createHash } from 'node:crypto'
import type postgres from 'postgres'
import * as v from 'valibot'
import { v7 as newId } from 'uuid'
import { plainFeedback } from './feedback-table.ts'

const name = v.optional(v.nullable(v.string()))

/** The checks of a plain handler that also resolves contact, account and project. */
export const referringFeedback = v.object({
  ...plainFeedback.entries,
  contact: v.optional(v.nullable(v.object({ email: v.string(), name }))),
  account: v.optional(v.nullable(v.object({ name: v.string(), domain: name }))),
  project: v.optional(v.nullable(v.object({ name: v.string() }))),
})
type ReferringFeedback = v.InferOutput<typeof referringFeedback>

/** The answer to a request. */
type FeedbackAnswer =
  { readonly kind: 'stored' | 'repeated'; readonly feedbackId: string } | { readonly kind: 'key reused' }

export const createAtOnceTables = async (sql: postgres.Sql): Promise<void> => {
  await sql.unsafe(`
    create table contact (id uuid primary key, email text not null unique, name text);
    create table account (id uuid primary key, key text not null unique, name text not null, domain text);
    create table project (id uuid primary key, name text not null unique);
    create table feedback (
      id uuid primary key,
      description text not null,
      title text,
      tags text[],
      rating double precision,
      source text not null,
      source_id text,
      contact_id uuid references contact,
      account_id uuid references account,
      project_id uuid references project,
      created_at timestamptz not null default now(),
      unique (source, source_id)
    );
    create index on feedback (contact_id);
    create index on feedback (account_id);
    create index on feedback (project_id);
    create table receipt (
      id uuid primary key,
      feedback_id uuid not null references feedback,
      state text not null,
      finished_at timestamptz not null default now()
    );
    create table idempotency_key (key text primary key, body_hash bytea not null, receipt_id uuid not null)`)
}

/**
 * Finds or creates contact, account and project, replaces the feedback with the same `sourceId`,
 * and writes receipt and idempotency key: all in one statement.
 */
export const takeAtOnce = async (
  sql: postgres.Sql,
  feedback: ReferringFeedback,
  key: string | null,
): Promise<FeedbackAnswer> => {
  const { description, title, tags, rating, contact, account, project, source, sourceId } = feedback
  const hash = createHash('sha256').update(JSON.stringify(feedback)).digest()
  const receiptId = newId()
  const accountKey = account?.domain ?? account?.name ?? null
  const [stored] = await sql<{ feedback_id: string }[]>`
    with claimed as (
      insert into idempotency_key (key, body_hash, receipt_id)
      select ${key}, ${hash}, ${receiptId} where ${key}::text is not null
      on conflict (key) do nothing
      returning key
    ), is_new as (
      select where ${key}::text is null or exists (select from claimed)
    ), known as (
      select
        (select id from contact where email = ${contact?.email ?? null}) as contact_id,
        (select id from account where key = ${accountKey}) as account_id,
        (select id from project where name = ${project?.name ?? null}) as project_id
      from is_new
    ), made_contact as (
      insert into contact (id, email, name)
      select ${newId()}, ${contact?.email ?? null}, ${contact?.name ?? null} from known
      where contact_id is null and ${contact?.email ?? null}::text is not null
      on conflict (email) do update set email = excluded.email
      returning id
    ), made_account as (
      insert into account (id, key, name, domain)
      select ${newId()}, ${accountKey}, ${account?.name ?? null}, ${account?.domain ?? null} from known
      where account_id is null and ${accountKey}::text is not null
      on conflict (key) do update set key = excluded.key
      returning id
    ), made_project as (
      insert into project (id, name)
      select ${newId()}, ${project?.name ?? null} from known
      where project_id is null and ${project?.name ?? null}::text is not null
      on conflict (name) do update set name = excluded.name
      returning id
    ), stored as (
      insert into feedback (
        id, description, title, tags, rating, source, source_id, contact_id, account_id, project_id
      )
      select ${newId()}, ${description}, ${title ?? null}, ${tags ?? null}, ${rating ?? null}, ${source ?? 'API'},
        ${sourceId ?? null}, coalesce(contact_id, (select id from made_contact)),
        coalesce(account_id, (select id from made_account)), coalesce(project_id, (select id from made_project))
      from known
      on conflict (source, source_id) do update set
        description = excluded.description, title = excluded.title, tags = excluded.tags, rating = excluded.rating,
        contact_id = excluded.contact_id, account_id = excluded.account_id, project_id = excluded.project_id
      returning id
    )
    insert into receipt (id, feedback_id, state) select ${receiptId}, id, 'applied' from stored
    returning feedback_id`
  if (stored) return { kind: 'stored', feedbackId: stored.feedback_id }
  const [former] = await sql<{ feedback_id: string; is_same: boolean }[]>`
    select r.feedback_id, k.body_hash = ${hash} as is_same
    from idempotency_key as k join receipt as r on r.id = k.receipt_id where k.key = ${key}`
  return former!.is_same ? { kind: 'repeated', feedbackId: former!.feedback_id } : { kind: 'key reused' }
}
