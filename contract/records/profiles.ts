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
const ABOUT = {
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
  properties: { ...object, ...optional, stored: 'members', read: 'properties', about: 'Metadata.' },
  created_at: { ...createdAt, about: 'When the first submission that stored values of it was accepted.' },
  updated_at: { ...updatedAt, about: 'When the last submission that changed it was accepted.' },
  first_number: { ...number, stored: 'least' },
  number: { ...number, stored: 'greatest' },
  newest_number: { ...newestNumber, stored: 'newest' },
} as const satisfies RecordTable['columns']

/** Contacts, accounts and projects. */
export const PROFILES = {
  account: {
    kind: 'account',
    key: ['id'],
    onConflict: 'merge',
    columns: { id, domain: { ...text, ...optional, read: 'domain', about: 'The domain as it was sent.' }, ...ABOUT },
  },
  contact: {
    kind: 'customer',
    key: ['id'],
    onConflict: 'merge',
    columns: {
      id,
      email: { ...text, ...optional, read: 'email', about: 'The email as it was sent.' },
      account_id: { ...uuid, ...optional, read: 'accountId', about: 'Own id of its account.' },
      ...ABOUT,
    },
  },
  project: {
    kind: 'project',
    key: ['id'],
    onConflict: 'fail',
    columns: {
      id,
      name: { ...text, read: 'name', about: 'The name.' },
      description: { ...text, ...elsewhere, read: 'description', about: 'A description.' },
      created_at: { ...createdAt, about: 'When a submission first named it.' },
      first_number: number,
    },
  },
} as const satisfies Readonly<Record<string, RecordTable>>
