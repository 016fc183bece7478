import type { JsonObject } from '../../contract/json.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import type { Answer } from '../support/service.ts'
import type { OperationPath } from './interface-table.ts'

/** The rows of one submission, by table. */
export type StoredRows = Record<string, JsonObject | null>

type Sent = { body: JsonObject; answer: Answer }

const ACCOUNT_OF_CONTACT = `
  left join account as a on a.id = c.account_id left join account_external_id as x on x.account_id = a.id`

/**
 * The SQL after `from`: the tables of a submission as users join them, and the column of its key.
 * `storedRows` returns the tables whose alias has one letter. A purge stores nothing.
 */
const TABLES: Readonly<Partial<Record<OperationPath, string>>> = {
  '/feedbacks': `feedback as f left join contact as c on c.id = f.contact_id left join account as a on a.id = f.account_id
    left join project as p on p.id = f.project_id where f.id`,
  '/contacts/identify': `contact_external_id as e join contact as c on c.id = e.contact_id ${ACCOUNT_OF_CONTACT}
    where e.external_id`,
  '/accounts/identify': `account_external_id as x join account as a on a.id = x.account_id where x.external_id`,
  '/conversations': `conversation as v left join message as m on m.conversation_id = v.id
    left join conversation_contact as of_v on of_v.conversation_id = v.id left join contact as c on c.id = of_v.contact_id
    left join contact_external_id as e on e.contact_id = c.id ${ACCOUNT_OF_CONTACT} where v.external_id`,
}

/** The rows of a submission, one of each table. `sql` must see one workspace only. */
export const storedRows = async (sql: Sql, operation: OperationPath, { body, answer }: Sent): Promise<StoredRows> => {
  const tables = TABLES[operation]!
  const columns = [...tables.matchAll(/(\w+) as (\w)\b/g)].map(([, table, name]) => `to_jsonb(${name}) as ${table}`)
  const key: string = operation === '/feedbacks' ? answer.body.feedback.id : body['id']
  const [rows] = await sql.unsafe<StoredRows[]>(`select ${columns.join(', ')} from ${tables} = $1`, [key])
  return rows ?? {}
}
