import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { problemPaths } from '../support/problems.ts'
import { type Answer } from '../support/service.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { bodyWith } from './body-with.ts'
import {
  emailOf,
  type Field,
  FIELDS,
  type Kind,
  type Known,
  KNOWN_ACCOUNT,
  KNOWN_CONTACT,
  KNOWN_PROJECT,
  type OperationPath,
} from './interface-table.ts'
import { type StoredRows, storedRows } from './stored-rows.ts'

const SUCCESS: Readonly<Record<OperationPath, number>> = {
  '/feedbacks': 201,
  '/contacts/identify': 201,
  '/accounts/identify': 201,
  '/contacts/purge': 200,
  '/conversations': 200,
}
const MOST_CHARACTERS = 512
/** The last one takes two units of UTF-16, and still is one character. */
const LONGEST = `${'x'.repeat(MOST_CHARACTERS - 1)}😀`
const TOO_LONG = 'x'.repeat(MOST_CHARACTERS + 1)
/** Ids that are looked up, and not stored. */
const NAMES_SOMEBODY = /(?:contact|account|project)(?:Id|\.id)$/

const SECRET_TEXT = 'sEcReT'
const SECRET_NUMBER = 918273645
const SECRETS: JsonObject = { [SECRET_TEXT]: SECRET_NUMBER }
const NO_TEXT = [SECRET_NUMBER, true, [SECRET_TEXT], SECRETS]
const IMPOSSIBLE_DAY = '2026-02-30T00:00:00Z'

/** Values of another type, or not in the form that the type has. */
const WRONG: Readonly<Record<Kind, readonly JsonValue[]>> = {
  text: NO_TEXT,
  short: [...NO_TEXT, TOO_LONG],
  id: [...NO_TEXT, TOO_LONG, ''],
  'date-time': [...NO_TEXT, SECRET_TEXT, '', IMPOSSIBLE_DAY, '2026-01-31', '2026-01-31T09:30:00'],
  number: [SECRET_TEXT, String(SECRET_NUMBER), true, [SECRET_NUMBER], SECRETS],
  boolean: [SECRET_TEXT, 'true', 1, SECRET_NUMBER, [true], SECRETS],
  object: [SECRET_TEXT, SECRET_NUMBER, true, [SECRETS]],
  array: [SECRET_TEXT, SECRET_NUMBER, true, SECRETS],
}

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

  const post = ({ operation }: Field, body: JsonObject): Promise<Answer> =>
    service.post(operation, body, operation === '/contacts/purge' ? { token: service.adminToken } : {})

  const assertTaken = async (field: Field, value: JsonValue | undefined, { unique } = known()): Promise<StoredRows> => {
    const body = bodyWith(field, value, unique)
    // A purge has to find somebody.
    if (field.operation === '/contacts/purge') {
      const { source = null } = body
      await service.submit('/contacts/identify', { id: unique, source, properties: { $email: emailOf(unique) } })
    }
    const answer = await post(field, body)
    assert.equal(answer.status, SUCCESS[field.operation], answer.text)
    // What a purge takes away has tests of its own.
    if (field.operation === '/contacts/purge') return {}
    assert.equal(await service.settled(answer), 'applied')
    if (field.more.answered !== undefined && value !== undefined) {
      assert.deepEqual(answer.body.feedback[field.more.answered], value ?? undefined)
    }
    return storedRows(service.sql, field.operation, { body, answer })
  }

  const assertRefused = async (field: Field, value: JsonValue | undefined): Promise<void> => {
    const answer = await post(field, bodyWith(field, value, known().unique))
    assert.deepEqual(problemPaths(answer), [field.path], `for ${JSON.stringify(value)}: ${answer.text}`)
    for (const secret of [SECRET_TEXT, String(SECRET_NUMBER), IMPOSSIBLE_DAY, TOO_LONG]) {
      assert.ok(!answer.text.includes(secret), answer.text)
    }
  }

  for (const field of FIELDS) {
    describe(`${field.path} of ${field.operation}`, () => {
      it('is taken and stored as given', async () => {
        const whom = known()
        const good = valueOf(field.good, whom)
        const stored = await assertTaken(field, good, whom)
        if (field.stored === null) return
        assert.deepEqual(memberOf(stored, field.stored), asStored(field, valueOf(field.more.as ?? good, whom)))
      })
      it(`is ${field.presence === 'nullable' ? 'taken' : 'refused'} when it is null`, async () => {
        await (field.presence === 'nullable' ? assertTaken(field, null) : assertRefused(field, null))
      })
      it(`is ${field.presence === 'required' ? 'missed' : 'not missed'} when it is left out`, async () => {
        await (field.presence === 'required' ? assertRefused(field, undefined) : assertTaken(field, undefined))
      })
      it('is refused with its path in any other form, which is never quoted', async () => {
        for (const value of WRONG[field.kind]) await assertRefused(field, value)
      })
      if (field.kind === 'text' || field.kind === 'short') {
        it('may be empty', async () => {
          await assertTaken(field, '')
        })
      }
      if (field.kind === 'short' || (field.kind === 'id' && !NAMES_SOMEBODY.test(field.path))) {
        it('may have 512 characters', async () => {
          const stored = await assertTaken(field, LONGEST)
          if (field.stored !== null) assert.equal(memberOf(stored, field.stored), LONGEST)
        })
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

const valueOf = (given: Field['good'], whom: Known): JsonValue => (typeof given === 'function' ? given(whom) : given)

const memberOf = (rows: Record<string, JsonObject | null>, place: string): JsonValue | undefined => {
  const [table = '', column = ''] = place.split('.')
  const value = rows[table]?.[column]
  return column.endsWith('_at') && typeof value === 'string' ? new Date(value).toISOString() : value
}

const asStored = ({ kind }: Field, value: JsonValue): JsonValue =>
  kind === 'date-time' ? new Date(value as string).toISOString() : value
