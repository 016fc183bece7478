import { compareSpans } from '../../db/reads/comparison.ts'
import { findAccount, readAccountContext, readFeedbackContext } from '../../db/reads/context.ts'
import { findNames, readContractValues } from '../../db/reads/names.ts'
import { countAnswers } from '../../db/reads/nps.ts'
import { withStoredHashes } from '../../db/reads/search.ts'
import type { CapabilityParts, OpenedCapability } from '../capability.ts'
import type { Arrival } from '../http/arrival.ts'
import { withinQueryTime } from '../within-query-time.ts'
import type { AgentReads } from './agent-read.ts'
import { createCallLimit } from './call-limit.ts'
import { createCountCall } from './count-calls.ts'
import type { McpDependencies } from './mcp.ts'

const PATH = '/mcp'

/** Answers agents. */
export const openMcp = ({ resources, reads, counter }: CapabilityParts): OpenedCapability => {
  const { config, log } = resources
  const callsPerMinute = config.AGENT_CALLS_PER_MINUTE
  return mcpRoute({
    reads,
    agentReads: createAgentReads(resources),
    limit: createCallLimit(callsPerMinute, () => performance.now()),
    callsPerMinute,
    origins: config.CORS_ORIGINS ?? [],
    called: createCountCall(counter),
    log,
  })
}

export const mcpRoute = (dependencies: McpDependencies): OpenedCapability => ({
  address: { name: 'mcp', path: PATH },
  isTraced: true,
  routes: [{ method: 'POST', path: PATH, handle: (arrival) => answer(dependencies, arrival) }],
})

/** Few processes are asked by agents, and the SDK takes long to load. */
const answer = async (dependencies: McpDependencies, arrival: Arrival): Promise<Response> => {
  const { answerMcp } = await import('./mcp.ts')
  return answerMcp(dependencies, arrival)
}

const createAgentReads = ({ hashKey, readingSql: sql }: CapabilityParts['resources']): AgentReads => ({
  compare: (asked) => withinQueryTime(compareSpans(sql, withStoredHashes(hashKey, asked))),
  feedbackContext: (...asked) => withinQueryTime(readFeedbackContext(sql, ...asked)),
  accountContext: (...asked) => withinQueryTime(readAccountContext(sql, ...asked)),
  findAccount: (...asked) => withinQueryTime(findAccount(sql, ...asked)),
  findNames: (...asked) => withinQueryTime(findNames(sql, ...asked)),
  contractValues: (...asked) => withinQueryTime(readContractValues(sql, ...asked)),
  countAnswers: (asked) => withinQueryTime(countAnswers(sql, withStoredHashes(hashKey, asked))),
})
