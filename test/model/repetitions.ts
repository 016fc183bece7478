const REPEATED_FROM = 6

/** About half of the submissions repeat one of the few before them. */
export const withRepetitions = <Drawn>(drawn: readonly (readonly [Drawn, back: number | null])[]): Drawn[] => {
  const repeated: Drawn[] = []
  for (const [one, back] of drawn) {
    repeated.push(back === null ? one : (repeated.at(-1 - (back % REPEATED_FROM)) ?? one))
  }
  return repeated
}
