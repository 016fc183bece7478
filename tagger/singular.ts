import exceptions from './data/singulars.json' with { type: 'json' }

const IRREGULAR = new Map(Object.entries(exceptions.irregular))
const UNCHANGED = new Set(exceptions.unchanged)

/**
 * The singular of an English noun in lower case, by a simple rule: batteries, battery; boxes, box;
 * apps, app.
 */
export const singular = (noun: string): string => {
  const irregular = IRREGULAR.get(noun)
  if (irregular !== undefined) return irregular
  if (noun.length < 4 || UNCHANGED.has(noun) || !noun.endsWith('s') || /(?:ss|us|is)$/.test(noun)) return noun
  if (noun.endsWith('ies')) return `${noun.slice(0, -3)}y`
  return /(?:[^ao]us|ss|sh|ch|x|zz)es$/.test(noun) ? noun.slice(0, -2) : noun.slice(0, -1)
}
