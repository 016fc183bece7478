/** The words of lines of words. */
export const toSet = (lines: readonly string[]): ReadonlySet<string> => {
  return new Set(lines.flatMap((line) => line.split(' ')))
}
