import assert from 'node:assert/strict'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'

type Row = Record<string, unknown>

/** Returns functions that wait for rows. `service` is a function, since `before` starts the service. */
export const rowsOf = (service: () => Pick<Service, 'sql'>) => {
  /** Waits until a query has a row, and returns the row. Fails if the query has several rows. */
  const rowOf = (query: string): Promise<Row> =>
    until(query, async () => {
      const rows = await service().sql.unsafe<Row[]>(query)
      assert.ok(rows.length < 2, JSON.stringify(rows))
      return rows[0] && { ...rows[0] }
    })
  return {
    rowOf,
    contact: (source: string, id: string): Promise<Row> =>
      rowOf(
        `select contact.name, email, properties, account_external_id.external_id as account
         from contact_external_id join contact on contact.id = contact_id
         left join account_external_id on account_external_id.account_id = contact.account_id
         where contact_external_id.source = '${source}' and contact_external_id.external_id = '${id}'`,
      ),
    feedback: (source: string, sourceId: string): Promise<Row> =>
      rowOf(
        `select description, title, rating::float8, feedback.created_at, source_data, account.name as account,
           coalesce(contact_external_id.external_id, contact.name) as contact
         from feedback left join contact on contact.id = contact_id left join contact_external_id using (contact_id)
         left join account on account.id = feedback.account_id
         where feedback.source = '${source}' and source_id = '${sourceId}'`,
      ),
  }
}
