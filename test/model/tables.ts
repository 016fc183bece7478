import type { JsonObject } from '../../contract/json.ts'

type Row<Columns> = { workspace_id: string } & Columns

type Described = {
  name: string | null
  contract_value: number | null
  source_created_at: string | null
  source_updated_at: string | null
  properties: JsonObject
  created_number: number
  updated_number: number
}

/**
 * The tables for users, of all workspaces. Date-times have the form of `Date.toISOString`.
 * Acceptance numbers stand for the times of acceptance in the database. Generated tags are left
 * out.
 */
export type Tables = {
  contact: Row<{ id: string; email: string | null; account_id: string | null } & Described>[]
  contact_external_id: Row<{ source: string; external_id: string; contact_id: string }>[]
  account: Row<{ id: string; domain: string | null } & Described>[]
  account_external_id: Row<{ source: string; external_id: string; account_id: string }>[]
  project: Row<{ id: string; name: string }>[]
  feedback: Row<{
    id: string
    description: string
    title: string | null
    is_transcript: boolean | null
    /** Null if they are generated. */
    tags: string[] | null
    tags_generated: boolean
    rating: number | null
    source: string
    source_id: string | null
    source_data: JsonObject | null
    contact_id: string | null
    account_id: string | null
    project_id: string | null
    created_at: string
    accepted_number: number
    updated_number: number
  }>[]
  feedback_category: Row<{ title: string }>[]
  conversation: Row<{
    id: string
    external_id: string
    source: string
    title: string | null
    rating: number | null
    properties: JsonObject
    created_at: string
    updated_at: string | null
  }>[]
  conversation_contact: Row<{ conversation_id: string; contact_id: string }>[]
  message: Row<{
    id: string
    conversation_id: string
    external_id: string
    incoming: boolean
    contact_id: string | null
    content: string
    source_url: string | null
    raw_data: JsonObject
    created_at: string
  }>[]
}

/** Sorts by all columns, the key first, which is the order of `applyAll`. */
export const inOrder = <R extends object>(rows: readonly R[]): R[] =>
  rows
    .map((row): [string, R] => [JSON.stringify(row), row])
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, row]) => row)

/** The instant of a date-time of RFC 3339, to the millisecond. */
export const instant = (dateTime: string): string => new Date(dateTime.toUpperCase()).toISOString()
