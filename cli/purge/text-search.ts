/**
 * A string to search for, with the forms in which it can be held once `comparable` has been
 * applied.
 */
export type Sought = { readonly text: string; readonly forms: readonly string[] }

/** A string that is found: `count` rows of a column, or keys of one pattern, hold it. */
export type Residue = { readonly text: string; readonly place: string; readonly count: number }

/**
 * The form in which texts are compared: in lower case and without backslashes. JSON, array literals
 * and Lua escape by backslashes, within each other and any number of times. Without backslashes all
 * of them hold a string in the same form. Lower case writes a final sigma unlike a sigma within a
 * word, so both become one letter.
 */
export const comparable = (text: string): string => text.replaceAll('\\', '').toLowerCase().replaceAll('ς', 'σ')

/**
 * The strings to search for, each once and without blanks around it. A string of blanks alone is
 * left out.
 */
export const soughtOf = (texts: readonly string[]): Sought[] =>
  [...new Set(texts.map((text) => text.trim()))]
    .filter((text) => comparable(text).trim() !== '')
    .map((text) => ({ text, forms: formsOf(text) }))

/** A string as it is, and as JSON writes it: with letters for control characters. */
const formsOf = (text: string): string[] => [
  ...new Set([text, JSON.stringify(text).slice(1, -1)].map((form) => comparable(form))),
]

/** The strings that a text holds, to which `comparable` has been applied. */
export const heldIn = (compared: string, sought: readonly Sought[]): Sought[] =>
  sought.filter(({ forms }) => forms.some((form) => compared.includes(form)))

export type Tally = { note: (held: readonly Sought[], place: string) => void; residue: () => Residue[] }

/** Counts the rows or keys in which strings are held, for each string and place. */
export const newTally = (): Tally => {
  const counts = new Map<Sought, Map<string, number>>()
  return {
    note: (held, place) => {
      for (const one of held) {
        const places = counts.get(one) ?? new Map<string, number>()
        places.set(place, (places.get(place) ?? 0) + 1)
        counts.set(one, places)
      }
    },
    residue: () =>
      [...counts].flatMap(([{ text }, places]) => [...places].map(([place, count]) => ({ text, place, count }))),
  }
}
