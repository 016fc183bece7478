import { FIELD_PREFIX } from '../../contract/feedback-filters.ts'
import { type DeclaredFields, fieldValue } from './field-values.ts'

/**
 * What feedback is counted by. `key`: SQL over `r`, and over `c` for feedback without an account.
 * `text` and `name`: the key `k` as text, and its name. `every`: the keys of time follow each other at
 * this distance.
 */
const DIMENSIONS = {
  tag: { key: 'unnest(t.tags_or_null)', text: 'k', name: 'null::text' },
  theme: {
    key: 'h.id',
    text: 'k::text',
    name: '(select t.name from theme as t where t.workspace_id = $1 and t.id = k)',
  },
  kind: { key: 'r.kind', text: 'k', name: 'null::text' },
  source: { key: 'r.source', text: 'k', name: 'null::text' },
  project: {
    key: 'r.project_id',
    text: 'k::text',
    name: '(select p.name from project as p where p.workspace_id = $1 and p.id = k)',
  },
  account: {
    key: 'coalesce(r.account_id, c.account_id)',
    text: 'k::text',
    name: '(select a.name from account as a where a.workspace_id = $1 and a.id = k)',
  },
  customer: {
    key: 'r.contact_id',
    text: 'k::text',
    name: '(select o.name from contact as o where o.workspace_id = $1 and o.id = k)',
  },
  week: {
    key: `date_trunc('week', r.created_at at time zone 'utc')`,
    text: `to_char(k, 'YYYY-MM-DD')`,
    name: 'null::text',
    every: '1 week',
  },
  month: {
    key: `date_trunc('month', r.created_at at time zone 'utc')`,
    text: `to_char(k, 'YYYY-MM')`,
    name: 'null::text',
    every: '1 month',
  },
  rating: { key: 'r.rating', text: 'k::text', name: 'null::text' },
} as const
export type FixedDimension = keyof typeof DIMENSIONS
export type Dimension = FixedDimension | `field.${string}`
export const DIMENSION_NAMES = Object.keys(DIMENSIONS) as [FixedDimension, ...FixedDimension[]]
export type DimensionParts = { key: string; text: string; name: string; every?: string }

export const isFixedDimension = (name: string): name is FixedDimension => Object.hasOwn(DIMENSIONS, name)

/** The names of the declared fields among dimensions. */
export const fieldsAmong = (by: readonly Dimension[]): string[] =>
  by.flatMap((name) => (isFixedDimension(name) ? [] : name.slice(FIELD_PREFIX.length)))

export const partsOf = (name: Dimension, declared: DeclaredFields = []): DimensionParts =>
  isFixedDimension(name)
    ? DIMENSIONS[name]
    : { key: fieldValue(fieldsAmong([name])[0]!, declared), text: 'k', name: 'null::text' }

/** Joins of counts by theme, and their condition: a hidden theme is in no count. */
export const themeJoins = (theme: string): string => `
  left join theme as o_theme on o_theme.workspace_id = r.workspace_id and o_theme.id = ${theme}
  left join theme as h on h.workspace_id = r.workspace_id and h.id = o_theme.shown_id`
export const THEME_SHOWN = 'not coalesce(h.is_hidden, false)'

/** One dimension, or two different ones. */
export type Dimensions = readonly [Dimension] | readonly [Dimension, Dimension]
