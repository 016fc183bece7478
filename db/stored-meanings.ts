import type { Meaning, Question } from '../contract/identity/meaning.ts'
import type { Sql } from './postgres.ts'

/** `fresh`: the question names an own id with which a purge made a key start afresh. */
export type StoredMeaning = Meaning & { fresh: boolean }

/** Whom references mean by what is stored, each as of its own number, in the order of the questions. */
export const storedMeanings = async (sql: Sql, questions: readonly Question[]): Promise<StoredMeaning[]> => {
  const asked = questions.map(({ workspaceId, number, source, references }) => ({
    workspace: workspaceId,
    number,
    source,
    ...references,
  }))
  return sql<StoredMeaning[]>`
    select (resolve(q.workspace, 'contact', reference_at(q.workspace, nullif(q.contact, 'null'), q.number), q.number, q.source)).id as contact,
      (resolve(q.workspace, 'project', nullif(q.project, 'null'), q.number, q.source)).id as project,
      exists (
        select from jsonb_array_elements_text(case when (q.contact -> 'own')::boolean then q.contact -> 'ids' end) as own (id)
        where key_of(q.workspace, own.id::uuid) <> own.id::uuid
      ) as fresh
    from rows from (
      jsonb_to_recordset(${sql.json(asked)}) as (workspace uuid, number bigint, source text, contact jsonb, project jsonb)
    ) with ordinality as q (workspace, number, source, contact, project, place)
    order by q.place`
}

export type EmailQuestion = Pick<Question, 'workspaceId' | 'number'> & { email: string }

/**
 * Whom emails mean as of these numbers. Most are looked for in vain, which costs two look-ups in an index each: 9 us of Postgres for
 * a submission, where 41 went into resolving every email as if something were known about it.
 */
export const emailsAt = async (sql: Sql, asked: readonly EmailQuestion[]): Promise<string[]> => {
  const literal = (values: readonly (string | number)[]): string => `{${values.join()}}`
  const found = await sql<{ place: number; contact: string }[]>`
    select q.place::int, resolve_weak(q.workspace, id_at(q.workspace, q.email, q.number), q.number) as contact
    from unnest(
      ${literal(asked.map(({ workspaceId }) => workspaceId))}::uuid[],
      ${literal(asked.map(({ email }) => email))}::uuid[],
      ${literal(asked.map(({ number }) => number))}::bigint[]
    ) with ordinality as q (workspace, email, number, place)
    where exists (select from identity_claim as c where c.workspace_id = q.workspace and c.key_id = q.email offset 0)
      or exists (select from fence as f where f.workspace_id = q.workspace and f.key_id = q.email offset 0)`
  const contacts = asked.map(({ email }) => email)
  for (const { place, contact } of found) contacts[place - 1] = contact
  return contacts
}
