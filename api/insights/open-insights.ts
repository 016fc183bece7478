import { createReads, type InsightReads } from '../../insights/reads.ts'
import type { CapabilityParts, OpenedCapability } from '../capability.ts'
import { withinQueryTime } from '../within-query-time.ts'
import { answerInsights, type InsightDependencies, INSIGHTS_PATH } from './insights.ts'

/** Answers people who read. */
export const openInsights = ({ resources, ...parts }: CapabilityParts): OpenedCapability =>
  insightRoutes({ ...parts, insightReads: createInsightReads(resources) })

export const insightRoutes = (dependencies: InsightDependencies): OpenedCapability => ({
  address: { name: 'insights', path: INSIGHTS_PATH },
  routes: [INSIGHTS_PATH, `${INSIGHTS_PATH}/*`].map((path) => ({
    method: 'ALL',
    path,
    handle: (arrival) => answerInsights(dependencies, arrival),
  })),
})

const createInsightReads =
  ({ readingSql: sql, hashKey }: CapabilityParts['resources']): InsightDependencies['insightReads'] =>
  (workspaceId) =>
    Object.fromEntries(
      Object.entries(createReads(sql, { workspaceId, hashKey })).map(([name, read]) => [
        name,
        (...asked: unknown[]) => withinQueryTime((read as (...given: unknown[]) => Promise<unknown>)(...asked)),
      ]),
    ) as InsightReads
