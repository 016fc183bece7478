import { flag, number, optional, type RecordTable, text, uuid } from './columns.ts'

/** The keys of contacts, accounts and records, and their links. */
export const KEYS = {
  account_alias: { key: ['id'], onConflict: 'ignore', columns: { id: uuid, account_id: uuid } },
  account_external_id: {
    key: ['key_id'],
    onConflict: 'fail',
    columns: { key_id: uuid, source: text, external_id: text, account_id: uuid },
  },
  account_domain: {
    key: ['domain'],
    onConflict: 'replace',
    columns: { domain: text, account_id: uuid, claimed: flag },
  },
  account_name: {
    key: ['name'],
    onConflict: 'replace',
    columns: { name: text, account_id: { ...uuid, ...optional }, domain: { ...text, ...optional }, claimed: flag },
  },
  contact_alias: { key: ['id'], onConflict: 'ignore', columns: { id: uuid, contact_id: uuid } },
  contact_external_id: {
    key: ['key_id', 'contact_id'],
    onConflict: 'fail',
    columns: { key_id: uuid, source: text, external_id: text, contact_id: uuid, number },
  },
  contact_email: {
    key: ['email', 'contact_id'],
    onConflict: 'replace',
    columns: { email: text, contact_id: uuid, number: { ...number, stored: 'greatest' }, claimed: flag },
  },
  conversation_contact: {
    key: ['conversation_id', 'contact_id'],
    onConflict: 'ignore',
    columns: { conversation_id: uuid, contact_id: uuid },
  },
  unresolved: {
    key: ['key_id', 'slot', 'record_id'],
    onConflict: 'fail',
    columns: { key_id: uuid, slot: { type: '"char"' }, record_id: uuid },
  },
} as const satisfies Readonly<Record<string, RecordTable>>
