import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { columnsOf } from '../../cli/export/columns.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { bodyWith } from './body-with.ts'
import {
  type Field,
  FIELDS,
  type Known,
  KNOWN_ACCOUNT,
  KNOWN_CONTACT,
  KNOWN_PROJECT,
  LONGEST,
  isTestedWithLongest,
  SUCCESS,
  valueOf,
} from './interface-table.ts'
import { type StoredRows, storedRows } from './stored-rows.ts'

/** `test/api/fields.test.ts` tests the refusals of each field. */
describe('every field of the interface', () => {
  let service: SharedService
  let introduced: Omit<Known, 'unique'>
  let count = 0
  before(async () => {
    service = await sharedService()
    introduced = await introduce(service)
  })
  after(() => service?.stop())

  const known = (): Known => ({ ...introduced, unique: `unique-${++count}` })

  /** The feedback as `GET /feedbacks/{id}` gives it, by column. */
  const read = async ({ feedback }: StoredRows): Promise<StoredRows> => {
    const { body } = await service.get(`/api/v1/feedbacks/${feedback!['id'] as string}`, { token: service.readToken })
    const unknown = Object.keys(body.feedback as JsonObject).filter((name) => !EXPORTED.includes(name))
    assert.deepEqual(unknown, [], 'add these members to contract/record-schemas.ts, and run npm run openapi')
    const columns = Object.entries(body.feedback as JsonObject).map(([name, value]) => [columnOf(name), value])
    return { feedback: Object.fromEntries(columns) as JsonObject }
  }

  const store = async (field: Field, value: JsonValue | undefined, { unique } = known()): Promise<StoredRows> => {
    const body = bodyWith(field, value, unique)
    const answer = await service.post(field.operation, body)
    assert.equal(answer.status, SUCCESS[field.operation], answer.text)
    assert.equal(await service.settled(answer), 'applied')
    const { answered } = field.more
    if (answered !== undefined && value != null) assert.deepEqual(answer.body.feedback[answered], value)
    return storedRows(service.sql, field.operation, { body, answer })
  }

  for (const field of FIELDS.filter(({ stored: place }) => place !== null)) {
    const place = field.stored!
    it(`${field.path} of ${field.operation} is stored as given, and may be null, absent or empty as the table says`, async () => {
      const existing = known()
      const good = valueOf(field.good, existing)
      const rest = [
        ...(field.presence === 'nullable' ? [null] : []),
        ...(field.presence === 'required' ? [] : [undefined]),
        ...(field.kind === 'text' || field.kind === 'short' ? [''] : []),
      ]
      const [rows, long] = await Promise.all([
        store(field, good, existing),
        isTestedWithLongest(field) ? store(field, LONGEST) : undefined,
        ...rest.map((value) => store(field, value)),
      ])
      assert.deepEqual(memberOf(rows, place), asStored(field, valueOf(field.more.as ?? good, existing)))
      if (long) assert.equal(memberOf(long, place), LONGEST)
      if (place.startsWith('feedback.')) {
        const message = 'feedback_json in db/functions/reads.sql gives another value'
        assert.deepEqual(memberOf(await read(rows), place), memberOf(rows, place), message)
      }
    })
  }
})

const introduce = async (service: SharedService): Promise<Omit<Known, 'unique'>> => {
  const { id, name, domain } = KNOWN_ACCOUNT
  await service.submit('/accounts/identify', { id, properties: { $name: name, $domain: domain } })
  await service.submit('/contacts/identify', { id: KNOWN_CONTACT.id, properties: { $name: KNOWN_CONTACT.name } })
  const feedback = await service.submit('/feedbacks', {
    description: 'The first one',
    isExternalContactId: true,
    contactId: KNOWN_CONTACT.id,
    isExternalAccountId: true,
    accountId: KNOWN_ACCOUNT.id,
    project: KNOWN_PROJECT,
  })
  const [row] = await service.sql<Omit<Known, 'unique'>[]>`
    select contact_id as "contactId", account_id as "accountId", project_id as "projectId"
    from feedback where id = ${feedback.body.feedback.id}`
  return row!
}

/** The members of a feedback in api/openapi/openapi.json, from which exports take their columns. */
const EXPORTED = Object.keys(columnsOf('feedback'))

const OTHER_COLUMNS: Readonly<Record<string, string>> = { customerId: 'contact_id', createdAt: 'source_created_at' }

/** The column of a member of a record. */
const columnOf = (name: string): string =>
  OTHER_COLUMNS[name] ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const memberOf = (rows: Record<string, JsonObject | null>, place: string): JsonValue | undefined => {
  const [table = '', column = ''] = place.split('.')
  const value = rows[table]?.[column]
  return column.endsWith('_at') && typeof value === 'string' ? new Date(value).toISOString() : value
}

const asStored = ({ kind }: Field, value: JsonValue): JsonValue =>
  kind === 'date-time' ? new Date(value as string).toISOString() : value
