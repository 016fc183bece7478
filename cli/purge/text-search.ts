/** A string to search for, with the forms that it can have after `comparable`. */
export type Sought = { readonly text: string; readonly forms: readonly string[] }

/**
 * A found string. `count`: how many rows, keys or entries of the slow log contain it at `place`.
 */
export type Residue = { readonly text: string; readonly place: string; readonly count: number }

/**
 * The form for comparison: lower case, without backslashes. JSON, array literals and Lua escape
 * with backslashes, nested to any depth. Without backslashes all of them write a string alike,
 * except its control characters (see `formsOf`). Greek has two small letters for sigma, and one of
 * them replaces the other.
 */
export const comparable = (text: string): string => text.replaceAll('\\', '').toLowerCase().replaceAll('ς', 'σ')

/** Trims the strings. Leaves out duplicates, and strings with only spaces and backslashes. */
export const soughtOf = (texts: readonly string[]): Sought[] =>
  [...new Set(texts.map((text) => text.trim()))]
    .filter((text) => comparable(text).trim() !== '')
    .map((text) => ({ text, forms: formsOf(text) }))

/** The forms of a string as it is, and as JSON writes it, which escapes control characters. */
const formsOf = (text: string): string[] => [
  ...new Set([text, JSON.stringify(text).slice(1, -1)].map((form) => comparable(form))),
]

/** The strings that a text contains. The text is in the form of `comparable`. */
export const heldIn = (compared: string, sought: readonly Sought[]): Sought[] =>
  sought.filter(({ forms }) => forms.some((form) => compared.includes(form)))

type Tally = { note: (held: readonly Sought[], place: string) => void; residue: () => Residue[] }

export const createTally = (): Tally => {
  const counts = new Map<Sought, Map<string, number>>()
  return {
    note: (held, place) => {
      for (const found of held) {
        const places = counts.get(found) ?? new Map<string, number>()
        places.set(place, (places.get(place) ?? 0) + 1)
        counts.set(found, places)
      }
    },
    residue: () =>
      [...counts].flatMap(([{ text }, places]) => [...places].map(([place, count]) => ({ text, place, count }))),
  }
}
