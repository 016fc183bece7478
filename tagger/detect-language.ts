import type { eld } from 'eld/extrasmall'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

type Detector = typeof eld
let detector: Detector | undefined

/**
 * The language of a text by its groups of letters, for texts with few known words: `de`. Few texts
 * need it, and its data take a third of a second to load, so it loads them for the first of them.
 */
export const detectLanguage = (text: string): string => {
  detector ??= loadDetector()
  return detector.detect(text).language
}

const loadDetector = (): Detector => {
  // The package has no entry for require() by its name.
  const path = fileURLToPath(import.meta.resolve('eld/extrasmall'))
  return (createRequire(import.meta.url)(path) as { eld: Detector }).eld
}
