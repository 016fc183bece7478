import type { Theme } from '../contract/record-schemas.ts'
import type { InsightReads } from './reads.ts'

/** `isOpen`: neither hidden nor merged into another theme. */
export type NamedTheme = { id: string; name: string; isOpen: boolean; record: Theme }

const MOST_THEMES = 200
export const NO_NAME = '(no name)'

/** The newest themes of the workspace, by name. */
export const readThemes = async (reads: InsightReads): Promise<NamedTheme[]> => {
  const page = await reads.list({
    kind: 'theme',
    filters: {},
    after: undefined,
    isOldestFirst: false,
    limit: MOST_THEMES,
  })
  return page.records
    .map((text) => named(JSON.parse(text) as Theme))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

/** One theme, also beyond those that `readThemes` reads. */
export const readTheme = async (reads: InsightReads, id: string): Promise<NamedTheme | undefined> => {
  const found = await reads.record('theme', id)
  return found && named(found.record as Theme)
}

const named = (record: Theme): NamedTheme => {
  const { id, name = NO_NAME, isHidden, mergedInto } = record
  return { id, name, isOpen: !isHidden && mergedInto === undefined, record }
}
