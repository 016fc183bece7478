import type { eld } from 'eld/extrasmall'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { atFirstUse } from '../runtime/at-first-use.ts'

/** The data of the detector take long to load, and few texts need them. */
const detector = atFirstUse(() => {
  // The package has no entry for require() by its name.
  const path = fileURLToPath(import.meta.resolve('eld/extrasmall'))
  return (createRequire(import.meta.url)(path) as { eld: typeof eld }).eld
})

/** The language of a text by its groups of letters, for texts with few known words: `de`. */
export const detectLanguage = (text: string): string => detector().detect(text).language
