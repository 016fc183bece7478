const REPEATED_FROM = 6

/** About half of the submissions repeat one of the few before them. */
export const withRepetitions = <Drawn>(drawn: readonly (readonly [Drawn, back: number | null])[]): Drawn[] => {
  const said: Drawn[] = []
  for (const [one, back] of drawn) {
    said.push(back === null ? one : (said.at(-1 - (back % REPEATED_FROM)) ?? one))
  }
  return said
}
