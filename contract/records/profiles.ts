import {
  createdAt,
  elsewhere,
  id,
  newestNumber,
  number,
  object,
  optional,
  type RecordTable,
  text,
  time,
  updatedAt,
  uuid,
} from './columns.ts'

/** The columns of contacts and accounts alike. */
const SHARED_COLUMNS = {
  name: { ...text, ...optional, read: 'name', about: 'The name.' },
  contract_value: { type: 'numeric', ...optional, read: 'contractValue', about: '`$contractValue`.' },
  source_created_at: {
    ...time,
    ...optional,
    read: 'sourceCreatedAt',
    about: 'The `$createdAt` that was sent.',
  },
  source_updated_at: {
    ...time,
    ...optional,
    read: 'sourceUpdatedAt',
    about: 'The `$updatedAt` that was sent.',
  },
  properties: { ...object, ...optional, stored: 'members', read: 'properties', about: 'Metadata.', isAlwaysRead: true },
  created_at: {
    ...createdAt,
    about: 'When the first submission that stored values of it was accepted.',
    isAlwaysRead: true,
  },
  updated_at: { ...updatedAt, about: 'When the last submission that changed it was accepted.', isAlwaysRead: true },
  first_number: { ...number, stored: 'least' },
  listed_number: { ...number, ...optional, stored: 'listed' },
  listed_at: { ...time, ...elsewhere },
  number: { ...number, stored: 'greatest' },
  newest_number: { ...newestNumber, stored: 'newest' },
} as const satisfies RecordTable['columns']

/** Contacts, accounts and projects. */
export const PROFILES = {
  account: {
    kind: 'account',
    about: 'A company.',
    joined: { externalIds: { sql: 'external_ids_of_account', about: 'The external ids of the record.' } },
    key: ['id'],
    onConflict: 'merge',
    columns: {
      id,
      domain: { ...text, ...optional, read: 'domain', about: 'The domain as it was sent.' },
      ...SHARED_COLUMNS,
    },
  },
  contact: {
    kind: 'customer',
    about: 'A contact. Members without a value are left out, here and in all records.',
    joined: { externalIds: { sql: 'external_ids_of_contact', about: 'The external ids of the record.' } },
    key: ['id'],
    onConflict: 'merge',
    columns: {
      id,
      email: { ...text, ...optional, read: 'email', about: 'The email as it was sent.' },
      account_id: { ...uuid, ...optional, read: 'accountId', about: 'Own id of its account.' },
      ...SHARED_COLUMNS,
    },
  },
  project: {
    kind: 'project',
    about: 'A project.',
    key: ['id'],
    onConflict: 'fail',
    columns: {
      id,
      name: { ...text, read: 'name', about: 'The name.' },
      description: { ...text, ...elsewhere, read: 'description', about: 'A description.' },
      created_at: { ...createdAt, about: 'When a submission first named it.', isAlwaysRead: true },
      first_number: number,
    },
  },
} as const satisfies Readonly<Record<string, RecordTable>>
