import type { Meaning, Question } from '../../contract/identity/meaning.ts'
import type { Sql } from '../postgres.ts'

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

/** Whom emails mean as of these numbers. `resolve_emails` tells of the emails that do not simply mean themselves. */
export const emailsAt = async (sql: Sql, asked: readonly EmailQuestion[]): Promise<string[]> => {
  const literal = (values: readonly (string | number)[]): string => `{${values.join()}}`
  const found = await sql<{ place: number; contact: string }[]>`
    select place::int, contact
    from resolve_emails(
      ${literal(asked.map(({ workspaceId }) => workspaceId))}::uuid[],
      ${literal(asked.map(({ email }) => email))}::uuid[],
      ${literal(asked.map(({ number }) => number))}::bigint[]
    )`
  const contacts = asked.map(({ email }) => email)
  for (const { place, contact } of found) contacts[place - 1] = contact
  return contacts
}
