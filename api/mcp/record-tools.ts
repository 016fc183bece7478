import * as v from 'valibot'
import { asUuid } from '../../contract/identity/keys.ts'
import { identifier, ownId } from '../../contract/query-fields.ts'
import { isRefusal, type Refusal } from '../http/refusal.ts'
import { findRecord, withPermit } from '../reads/reads.ts'
import {
  accountOf,
  conversationOf,
  customerOf,
  definedMembers,
  feedbackOf,
  label,
  messageOf,
  personal,
  personalObjectOf,
  SINGLE_CHARACTERS,
} from './answers.ts'
import { type AgentRead, countForAgent, findFeedback, findRecords } from './agent-read.ts'
import { choice, limit, next } from './inputs.ts'
import { type Answered, defineTool, invalid } from './tool.ts'

const OTHERS = 5
const LATEST = 10
const TOP_GROUPS = 10
const NO_SUCH_RECORD: Refusal = { refused: 'no-such-record' }

/** A feedback with its customer, account and project, and other feedback of the customer. */
export const readFeedback = async (asked: AgentRead, id: string): Promise<Answered | Refusal> => {
  const { workspaceId, sight, agentReads } = asked
  const found = await findRecord(asked, 'feedback', id)
  if (isRefusal(found)) return found
  const context = await withPermit(
    asked,
    async () => (await agentReads.feedbackContext(workspaceId, found.id)) ?? NO_SUCH_RECORD,
  )
  if (isRefusal(context)) return context
  const { customer: author, project } = context
  const others = author ? await findFeedback(asked, { customerId: author.id }, { limit: OTHERS + 1 }) : { records: [] }
  if (isRefusal(others)) return others
  const answer = definedMembers({
    feedback: feedbackOf(JSON.parse(found.json), sight, SINGLE_CHARACTERS),
    customer: author && customerOf(author, sight),
    account: context.account && accountOf(context.account, sight),
    project: project && { id: project.id, name: label(project.name, sight) },
    sourceId: personal(context.sourceId, sight),
    sourceData: personalObjectOf(context.sourceData, sight),
    othersOfCustomer: others.records.filter((other) => other.id !== found.id).slice(0, OTHERS),
  })
  return { answer, records: 1 + answer.othersOfCustomer.length }
}

export const getFeedback = defineTool({
  name: 'get_feedback',
  title: 'One feedback with its context',
  description:
    'One feedback by its id, with its customer, account and project, and other feedback of the customer. The text has ' +
    `at most ${SINGLE_CHARACTERS} characters.`,
  input: v.strictObject({ id: ownId('The id of a feedback.') }),
  run: (asked, { id }) => readFeedback(asked, id),
})

/** The feedback of an account, in figures and in its latest quotes. */
export const readAccount = async (asked: AgentRead, given: string): Promise<Answered | Refusal> => {
  const { workspaceId, sight, agentReads, dependencies } = asked
  const found = await withPermit(asked, async () => {
    const id = await dependencies.currentId(workspaceId, { kind: 'account', id: given })
    return (await agentReads.accountContext(workspaceId, id)) ?? NO_SUCH_RECORD
  })
  if (isRefusal(found)) return found
  const filters = { accountId: found.id }
  const counts = await countForAgent(asked, { by: ['tag'], filters, limit: TOP_GROUPS })
  if (isRefusal(counts)) return counts
  const weeks = await countForAgent(asked, { by: ['week'], filters, limit: TOP_GROUPS })
  if (isRefusal(weeks)) return weeks
  const latest = await findFeedback(asked, filters, { limit: LATEST })
  if (isRefusal(latest)) return latest
  const { groups: topTags, groupsInAll: _, next: __, ...all } = counts
  const answer = {
    account: accountOf(found, sight),
    customers: found.customers,
    ...all,
    topTags,
    weeks: weeks.groups,
    latest: latest.records,
  }
  return { answer, records: counts.feedback }
}

export const accountStory = defineTool({
  name: 'account_story',
  title: "One account's story",
  description:
    'What an account (company) has said: its contract value, how much it said and how satisfied it is, its tags, weeks and latest words. ' +
    'Its customers: how many people belong to it.',
  input: v.strictObject({ account: identifier('The id of the account, its exact name, or its domain.') }),
  run: async (asked, { account }) => {
    const id = asUuid(account)
    if (id !== undefined) return readAccount(asked, id)
    const found = await withPermit(asked, async () => {
      const named = await asked.agentReads.findAccount(asked.workspaceId, account)
      return named === undefined ? NO_SUCH_ACCOUNT : { id: named }
    })
    return isRefusal(found) ? found : readAccount(asked, found.id)
  },
})

const NO_SUCH_ACCOUNT = invalid(['no account has this name or domain: resolve finds accounts by a part of the name'])

export const getConversation = defineTool({
  name: 'get_conversation',
  title: 'One conversation with its messages',
  description: 'One conversation by its id, with a page of its messages, by default the oldest first.',
  input: v.strictObject({
    id: ownId('The id of a conversation.'),
    order: v.optional(choice(['newest', 'oldest']), 'oldest'),
    limit,
    next,
  }),
  run: async (asked, { id, order: first, limit: most, next: from }) => {
    const found = await findRecord(asked, 'conversation', id)
    if (isRefusal(found)) return found
    const list = {
      kind: 'message',
      limit: most,
      isOldestFirst: first === 'oldest',
      filters: { conversationId: found.id },
    } as const
    const page = await findRecords(asked, list, { from, shownAs: messageOf })
    if (isRefusal(page)) return page
    const answer = {
      conversation: conversationOf(JSON.parse(found.json), asked.sight),
      messages: page.records,
      next: page.next,
    }
    return { answer, records: 1 + answer.messages.length }
  },
})
