/**
 * Asks once for each workspace, with its items, and returns the answers in the order of the items.
 * `ask` returns an answer for each of its items. No statement names several workspaces, since
 * these can be on several servers (docs/growing.md#citus).
 */
export const ofEachWorkspace = async <Item extends { workspaceId: string }, Answer>(
  items: readonly Item[],
  ask: (workspaceId: string, own: readonly Item[]) => Promise<readonly Answer[]>,
): Promise<Answer[]> => {
  const answers = new Map<Item, Answer>()
  const askOf = async ([workspaceId, own]: [string, readonly Item[]]): Promise<void> => {
    const found = await ask(workspaceId, own)
    for (const [at, item] of own.entries()) answers.set(item, found[at]!)
  }
  await Promise.all([...Map.groupBy(items, ({ workspaceId }) => workspaceId)].map(askOf))
  return items.map((item) => answers.get(item)!)
}
