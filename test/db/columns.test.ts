import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { freshSchema } from '../support/schema.ts'
import { COMPARED_COLUMNS } from '../support/tables.ts'

const { sql, drop } = await freshSchema()
after(drop)

const columns = await sql<{ table: string; column: string; type: string; hasStatistics: boolean }[]>`
  select c.relname as table, a.attname as column, format_type(a.atttypid, null) as type, a.attstattarget is distinct from 0 as "hasStatistics"
  from pg_attribute as a join pg_class as c on c.oid = a.attrelid
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v') and a.attnum > 0
    and not a.attisdropped`

const columnsOf = (table: string): string[] => columns.flatMap((row) => (row.table === table ? [row.column] : []))

/** Columns that workers and the change feed need, beside those for people. */
const INTERNAL =
  'number newest_number first_number purged_number change_position version latest_version tagger_version key_id uses corrections uncorrected correction_numbers tag_hash'.split(
    ' ',
  )

describe('a new column', () => {
  it('is compared between databases and with the model, if it is for people', () => {
    const leftOut = Object.entries(COMPARED_COLUMNS).flatMap(([table, compared]) =>
      columnsOf(table)
        .filter((column) => !INTERNAL.includes(column) && !`workspace_id, ${compared}`.split(/\W+/).includes(column))
        .map((column) => `${table}.${column}`),
    )
    // The model lacks what the tagger finds, some columns of categories and projects, and settings of
    // sources. The compared `feedback.created_at` follows from `source_created_at`.
    assert.deepEqual(leftOut.toSorted(), [
      'conversation.kind',
      'conversation.mood',
      'conversation.tags',
      'conversation.theme_id',
      'feedback.mood',
      'feedback.similar_id',
      'feedback.source_created_at',
      'feedback_category.created_at',
      'feedback_category.id',
      'project.created_at',
      'project.description',
      'source.fields',
      'source.given_high',
      'source.given_low',
      'source.is_scale_given',
      'source.link',
      'source.scale_high',
      'source.scale_low',
      'source.summed_high',
      'source.summed_low',
      'theme.created_at',
      'theme.name',
      'theme.title',
    ])
  })

  it('of feedback is in feedback_view, if it is for people', () => {
    const own = columnsOf('feedback').filter((column) => ![...INTERNAL, 'source_created_at'].includes(column))
    assert.deepEqual(
      own.filter((column) => !columnsOf('feedback_view').includes(column)),
      [],
    )
  })

  it('has no planner statistics if a client can send personal data in it: a purge does not reach statistics', () => {
    const tables =
      /^(?:contact|contact_.*|feedback|feedback_category|theme|conversation|message|dead_submission|tag_share|tag_in_use)$/
    const withStatistics = columns
      .filter(({ table, type, hasStatistics }) => tables.test(table) && /text|json/.test(type) && hasStatistics)
      .map(({ table, column }) => `${table}.${column}`)
    // The source names a system, such as Zendesk. `text_version` is a number or a hash, and the kinds are
    // few words of the service.
    assert.deepEqual(
      withStatistics.filter((name) => !/\.(?:source|text_version|kind|theme_by)$/.test(name)),
      [],
    )
  })
})
