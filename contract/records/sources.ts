import { elsewhere, object, type RecordTable, text } from './columns.ts'

const rating = { type: 'double precision' } as const

/**
 * The sources of feedback with ratings or settings. Postgres gives a source its scale: the scale
 * that a person gave, or else the scale that its ratings show.
 */
export const SOURCES = {
  source: {
    key: ['source'],
    onConflict: 'replace',
    columns: {
      source: text,
      ratings: { type: 'bigint', stored: 'sum' },
      least_rating: { ...rating, stored: 'least' },
      most_rating: { ...rating, stored: 'greatest' },
      is_scale_given: { type: 'boolean', ...elsewhere },
      given_low: { ...rating, ...elsewhere },
      given_high: { ...rating, ...elsewhere },
      scale_low: { ...rating, ...elsewhere },
      scale_high: { ...rating, ...elsewhere },
      summed_low: { ...rating, ...elsewhere },
      summed_high: { ...rating, ...elsewhere },
      link: { ...text, ...elsewhere },
      fields: { ...object, ...elsewhere },
    },
  },
} as const satisfies Readonly<Record<string, RecordTable>>
