import type { JsonObject } from '../../contract/json.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import type { Answer } from '../support/service.ts'
import type { OperationPath } from './interface-table.ts'

/** The rows of one submission, by table. */
export type StoredRows = Record<string, JsonObject | null>

type Sent = { body: JsonObject; answer: Answer }

/**
 * The result of a submission in the tables for users, joined as users join them. One row of each is
 * enough here.
 */
export const storedRows = async (sql: Sql, operation: OperationPath, { body, answer }: Sent): Promise<StoredRows> => {
  const id = body['id'] as string
  const [rows] = await (() => {
    switch (operation) {
      case '/feedbacks':
        return ofFeedback(sql, answer.body.feedback.id)
      case '/contacts/identify':
        return ofContact(sql, id)
      case '/accounts/identify':
        return ofAccount(sql, id)
      case '/conversations':
        return ofConversation(sql, id)
      case '/contacts/purge':
        throw new Error('A purge stores nothing of its body.')
    }
  })()
  return rows ?? {}
}

const ofFeedback = (sql: Sql, id: string) => sql<StoredRows[]>`
  select to_jsonb(f) as feedback, to_jsonb(c) as contact, to_jsonb(a) as account, to_jsonb(p) as project
  from feedback as f
  left join contact as c on c.workspace_id = f.workspace_id and c.id = f.contact_id
  left join account as a on a.workspace_id = f.workspace_id and a.id = f.account_id
  left join project as p on p.workspace_id = f.workspace_id and p.id = f.project_id
  where f.id = ${id}`

const ofContact = (sql: Sql, externalId: string) => sql<StoredRows[]>`
  select to_jsonb(e) as contact_external_id, to_jsonb(c) as contact, to_jsonb(a) as account,
    to_jsonb(x) as account_external_id
  from contact_external_id as e
  join contact as c on c.workspace_id = e.workspace_id and c.id = e.contact_id
  left join account as a on a.workspace_id = c.workspace_id and a.id = c.account_id
  left join account_external_id as x on x.workspace_id = c.workspace_id and x.account_id = c.account_id
  where e.external_id = ${externalId}`

const ofAccount = (sql: Sql, externalId: string) => sql<StoredRows[]>`
  select to_jsonb(x) as account_external_id, to_jsonb(a) as account
  from account_external_id as x
  join account as a on a.workspace_id = x.workspace_id and a.id = x.account_id
  where x.external_id = ${externalId}`

const ofConversation = (sql: Sql, externalId: string) => sql<StoredRows[]>`
  select to_jsonb(v) as conversation, to_jsonb(m) as message, to_jsonb(e) as contact_external_id,
    to_jsonb(c) as contact, to_jsonb(a) as account, to_jsonb(x) as account_external_id
  from conversation as v
  left join message as m on m.workspace_id = v.workspace_id and m.conversation_id = v.id
  left join conversation_contact as vc on vc.workspace_id = v.workspace_id and vc.conversation_id = v.id
  left join contact as c on c.workspace_id = v.workspace_id and c.id = vc.contact_id
  left join contact_external_id as e on e.workspace_id = v.workspace_id and e.contact_id = c.id
  left join account as a on a.workspace_id = v.workspace_id and a.id = c.account_id
  left join account_external_id as x on x.workspace_id = v.workspace_id and x.account_id = c.account_id
  where v.external_id = ${externalId}`
