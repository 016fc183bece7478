import type { SourceField } from '../../db/sources.ts'
import { type Dimension, fieldsAmong } from '../../db/reads/dimensions.ts'
import type { FeedbackFilters } from '../../db/reads/filters.ts'
import type { Refusal } from '../http/refusal.ts'
import { type ReadContext, withPermit } from './reads.ts'

type Named = { filters: Pick<FeedbackFilters, 'fields'>; by?: readonly Dimension[] }

/** The declared fields, if a read names any. Refuses a field that no source declares. */
export const findDeclared = async (
  context: ReadContext,
  { filters, by = [] }: Named,
): Promise<{ declared: SourceField[] } | Refusal> => {
  const named = [
    ...Object.keys(filters.fields ?? {}).map((name) => ({ name, path: `field.${name}` })),
    ...fieldsAmong(by).map((name) => ({ name, path: 'by' })),
  ]
  if (named.length === 0) return { declared: [] }
  return withPermit(context, async (): Promise<{ declared: SourceField[] } | Refusal> => {
    const declared = await context.dependencies.listFields(context.workspaceId)
    const names = new Set(declared.map(({ name }) => name))
    const undeclared = named.filter(({ name }) => !names.has(name))
    if (undeclared.length === 0) return { declared }
    return { refused: 'invalid', problems: undeclared.map((field) => problemOf(field, [...names].toSorted())) }
  })
}

const MOST_SHOWN_CHARACTERS = 100

const problemOf = (field: { name: string; path: string }, names: readonly string[]) => {
  const name = `field.${field.name}`.slice(0, MOST_SHOWN_CHARACTERS)
  const known = names.length === 0 ? 'none, see PUT /sources/{source}' : names.map((each) => `field.${each}`).join(', ')
  return {
    path: field.path.slice(0, MOST_SHOWN_CHARACTERS),
    message: `${name} is not declared; the declared fields are: ${known}`,
  }
}
