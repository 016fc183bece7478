import type { FoundMeaning } from '../../db/tags/store-tags.ts'

export const NOTHING_FOUND: FoundMeaning = { knownThemes: null, opened: [], waiting: [], joined: [] }
