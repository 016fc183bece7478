/** What a sum counts: the texts of a theme, of a mood or of a kind. `cells.ts` gives each a number. */
export type Cell = number

/** The row of all texts of a cell. No term has this hash. */
export const ALL = 0

/** Numbers of texts, by the hash of a term or sign, then by cell. The row ALL has every text. */
export type Sums = Map<number, Map<Cell, number>>

/** What one text adds to the sums: 1 for each of its hashes in each of its cells, and in the row ALL. */
export type CellShare = { readonly hashes: readonly number[]; readonly cells: readonly Cell[] }

export const sumOf = (sums: Sums, hash: number, cell: Cell): number => sums.get(hash)?.get(cell) ?? 0

/** How many texts have a theme. */
export const textsWithTheme = (sums: Sums): number => {
  let texts = 0
  for (const [cell, sum] of sums.get(ALL) ?? []) if (cell > 0) texts += sum
  return texts
}

export const addShare = (sums: Sums, share: CellShare): void => changeSums(sums, share, 1)

/** Takes a share out again. A sum of zero is deleted, so nothing is left of a text that is gone. */
export const subtractShare = (sums: Sums, share: CellShare): void => changeSums(sums, share, -1)

const changeSums = (sums: Sums, { hashes, cells }: CellShare, change: 1 | -1): void => {
  if (cells.length === 0) return
  for (const hash of new Set([ALL, ...hashes])) {
    const row = sums.get(hash) ?? new Map<Cell, number>()
    for (const cell of cells) {
      const sum = (row.get(cell) ?? 0) + change
      if (sum === 0) row.delete(cell)
      else row.set(cell, sum)
    }
    if (row.size === 0) sums.delete(hash)
    else sums.set(hash, row)
  }
}
