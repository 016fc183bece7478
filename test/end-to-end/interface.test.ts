import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { JsonValue } from '../../db/contract/json.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { bodyWith } from './field-body.ts'
import {
  emailOf,
  type Field,
  FIELDS,
  type FieldType,
  type Known,
  KNOWN_ACCOUNT,
  KNOWN_CONTACT,
  LEAST,
  type OperationPath,
  SUCCESS_STATUS,
} from './interface-table.ts'
import { FIND } from './stored-rows.ts'

const SECRET_TEXT = 'sEcReT'
const SECRET_NUMBER = 918273645
const SECRET_OBJECT = { [SECRET_TEXT]: SECRET_NUMBER }

/** Values of another type, or not of the form that the type asks for. */
const WRONG: Readonly<Record<FieldType, readonly JsonValue[]>> = {
  string: [SECRET_NUMBER, true, [SECRET_TEXT], SECRET_OBJECT],
  number: [SECRET_TEXT, String(SECRET_NUMBER), true, [SECRET_NUMBER], SECRET_OBJECT],
  boolean: [SECRET_TEXT, 'true', 1, SECRET_NUMBER, [true], SECRET_OBJECT],
  'date-time': [SECRET_TEXT, SECRET_NUMBER, true, [SECRET_TEXT], SECRET_OBJECT, '2026-02-30T00:00:00Z', '2026-01-31'],
  object: [SECRET_TEXT, SECRET_NUMBER, true, [SECRET_OBJECT]],
  array: [SECRET_TEXT, SECRET_NUMBER, true, SECRET_OBJECT],
}

describe('every field of the interface', () => {
  let service: Service
  let ids: Omit<Known, 'unique'>
  let count = 0

  before(async () => {
    service = await startService({ environment: { CONVERSATIONS_PER_MINUTE: '100000' } })
    ids = await introduce(service)
  })
  after(() => service.stop())

  const next = (): Known => ({ ...ids, unique: `unique-${++count}` })
  const given = (value: NonNullable<Field['as']>, known: Known): JsonValue =>
    typeof value === 'function' ? value(known) : value

  /** A purge finds somebody to purge. */
  const prepare = async ({ operation }: Field, { unique }: Known): Promise<void> => {
    if (operation !== '/contacts/purge') return
    await service.submit('/contacts/identify', { id: unique, properties: { $email: emailOf(unique) } })
  }

  const send = async (field: Field, value: JsonValue | undefined, known: Known): Promise<Answer> =>
    service.post(field.operation, bodyWith(field, value, known))

  const assertAccepted = async (field: Field, value: JsonValue | undefined, known: Known): Promise<Answer> => {
    await prepare(field, known)
    const answer = await send(field, value, known, ...[])
    return answer
  }
})
