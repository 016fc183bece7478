/** A string to search for, with the forms in which it can be held once `comparable` has been applied. */
export type Sought = { readonly text: string; readonly forms: readonly string[] }

/** Where a string is held: a column, or the keys of one pattern; `count` rows or keys. Never what stands there. */
export type Trace = { readonly text: string; readonly place: string; readonly count: number }

/**
 * Texts as they are compared: in lower case, and without backslashes. JSON, array literals and Redis's scripts escape by
 * backslashes, in each other and any number of times; without them all of these hold a string in the same form. Lower case
 * writes a final sigma in another way than one that something follows.
 */
export const comparable = (text: string): string => text.replaceAll('\\', '').toLowerCase().replaceAll('ς', 'σ')

/** The strings to search for, without blanks around them, each once. One that is nothing but blanks is left out. */
export const soughtOf = (texts: readonly string[]): Sought[] =>
  [...new Set(texts.map((text) => text.trim()))]
    .filter((text) => comparable(text).trim() !== '')
    .map((text) => ({ text, forms: formsOf(text) }))

/** As it is, and as JSON, which has letters for control characters. */
const formsOf = (text: string): string[] => [
  ...new Set([text, JSON.stringify(text).slice(1, -1)].map((form) => comparable(form))),
]

/** Those that a text holds, which `comparable` has been applied to. */
export const heldIn = (compared: string, sought: readonly Sought[]): Sought[] =>
  sought.filter(({ forms }) => forms.some((form) => compared.includes(form)))

export type Tally = { note: (held: readonly Sought[], place: string) => void; traces: () => Trace[] }

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
    traces: () =>
      [...counts].flatMap(([{ text }, places]) => [...places].map(([place, count]) => ({ text, place, count }))),
  }
}
