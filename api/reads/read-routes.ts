import { readFeed } from './changes.ts'
import { readCounts } from './counts.ts'
import { readConversation, readMany } from './lists.ts'
import { type ReadHandler, readOne, RESOURCES } from './reads.ts'
import { readSources } from './sources.ts'
import { readThemes } from './themes.ts'

type ReadRoute = {
  path: string
  /** The handler for the parameters of the path. */
  handlerFor: (parameters: Readonly<Record<string, string>>) => ReadHandler
}

/** Every read, by its path below the base path. */
export const READ_ROUTES: readonly ReadRoute[] = [
  ...RESOURCES.flatMap((resource): ReadRoute[] => [
    { path: `/${resource.path}`, handlerFor: () => (resource.kind === 'theme' ? readThemes : readMany(resource)) },
    {
      path: `/${resource.path}/:id`,
      handlerFor: ({ id = '' }) => (resource.kind === 'conversation' ? readConversation(id) : readOne(resource, id)),
    },
  ]),
  { path: '/changes', handlerFor: () => readFeed },
  { path: '/counts', handlerFor: () => readCounts },
  { path: '/sources', handlerFor: () => readSources },
]
