import { BASE_PATH } from '../../api/app.ts'
import type { OpenedCapability } from '../../api/capability.ts'
import { insightRoutes } from '../../api/insights/open-insights.ts'
import { mcpRoute } from '../../api/mcp/open-mcp.ts'
import type { SourceDependencies } from '../../api/reads/sources.ts'
import { webhookRoutes } from '../../api/webhooks/open-webhooks.ts'
import { emptyMcp } from './ask-mcp.ts'

const nothing = async (): Promise<undefined> => undefined

/** The capabilities of the API, with empty stores. */
export const capabilitiesWithoutStores = (parts: SourceDependencies): OpenedCapability[] => [
  mcpRoute(emptyMcp(parts.reads)),
  insightRoutes({
    ...parts,
    insightReads: () => {
      throw new Error('These tests do not call this')
    },
  }),
  webhookRoutes(BASE_PATH, {
    ...parts,
    webhooks: { list: async () => [], create: nothing, remove: async () => false, findHostProblem: nothing },
  }),
]
