import { readFeed } from './changes.ts'
import { readConversation, readMany } from './lists.ts'
import { type Read, type ReadAnswer, readOne, RESOURCES } from './reads.ts'

type ReadRoute = {
  path: string
  read: (parameters: Readonly<Record<string, string>>) => (read: Read) => Promise<ReadAnswer>
}

/** Every read, by its path below the base path. */
export const READ_ROUTES: readonly ReadRoute[] = [
  ...RESOURCES.flatMap((resource): ReadRoute[] => [
    { path: `/${resource.path}`, read: () => readMany(resource) },
    {
      path: `/${resource.path}/:id`,
      read: ({ id = '' }) => (resource.kind === 'conversation' ? readConversation(id) : readOne(resource, id)),
    },
  ]),
  { path: '/changes', read: () => readFeed },
]
