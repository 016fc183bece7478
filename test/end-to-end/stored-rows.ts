import type { JsonObject, JsonValue } from '../../db/contract/json.ts'
import type { Sql } from '../../db/postgres.ts'
import type { Answer } from '../support/service.ts'
import type { OperationPath } from './interface-table.ts'

/** The rows that a submission came to, by table, as users' SQL sees them. */
export type StoredRows = Record<string, JsonObject | null>

type Find = (sql: Sql, body: JsonObject, answer: Answer) => Promise<StoredRows[]>

const text = (value: JsonValue | undefined): string => value as string

export const FIND: Readonly<Record<Exclude<OperationPath, '/contacts/purge'>, Find>> = {
  '/feedbacks': (sql, _body, answer) => sql<StoredRows[]>`
    select to_jsonb(f) as feedback, to_jsonb(c) as contact, to_jsonb(a) as account, to_jsonb(p) as project
    from feedback as f
    left join contact as c on c.workspace_id = f.workspace_id and c.id = f.contact_id
    left join account as a on a.workspace_id = f.workspace_id and a.id = f.account_id
    left join project as p on p.workspace_id = f.workspace_id and p.id = f.project_id
    where f.id = ${answer.body.feedback.id}`,
  '/contacts/identify': (sql, body) => sql<StoredRows[]>`
    select to_jsonb(e) as contact_external_id, to_jsonb(c) as contact, to_jsonb(a) as account,
      to_jsonb(x) as account_external_id
    from contact_external_id as e
    join contact as c on c.workspace_id = e.workspace_id and c.id = e.contact_id
    left join account as a on a.workspace_id = c.workspace_id and a.id = c.account_id
    left join account_external_id as x on x.workspace_id = c.workspace_id and x.account_id = c.account_id
    where e.external_id = ${text(body['id'])}`,
  '/accounts/identify': (sql, body) => sql<StoredRows[]>`
    select to_jsonb(x) as account_external_id, to_jsonb(a) as account
    from account_external_id as x
    join account as a on a.workspace_id = x.workspace_id and a.id = x.account_id
    where x.external_id = ${text(body['id'])}`,
  '/conversations': (sql, body) => sql<StoredRows[]>`
    select to_jsonb(v) as conversation, to_jsonb(m) as message, to_jsonb(e) as contact_external_id, to_jsonb(c) as contact,
      to_jsonb(a) as account, to_jsonb(x) as account_external_id
    from conversation as v
    left join message as m on m.workspace_id = v.workspace_id and m.conversation_id = v.id
    left join conversation_contact as cc on cc.workspace_id = v.workspace_id and cc.conversation_id = v.id
    left join contact as c on c.workspace_id = v.workspace_id and c.id = cc.contact_id
    left join contact_external_id as e on e.workspace_id = v.workspace_id and e.contact_id = c.id
    left join account as a on a.workspace_id = v.workspace_id and a.id = c.account_id
    left join account_external_id as x on x.workspace_id = v.workspace_id and x.account_id = c.account_id
    where v.external_id = ${text(body['id'])}`,
}
