import * as v from 'valibot'
import { isRefusal, type Refusal } from '../http/refusal.ts'
import { identifier, ownId } from '../reads/parameters.ts'
import { findRecord, withPermit } from '../reads/reads.ts'
import {
  account,
  accountOf,
  conversationItem,
  conversationOf,
  customer,
  customerOf,
  definedMembers,
  feedbackItem,
  feedbackOf,
  figures,
  group,
  label,
  messageItem,
  messageOf,
  nextPage,
  personal,
  personalObject,
  personalObjectOf,
  SINGLE_CHARACTERS,
} from './answers.ts'
import { type AgentRead, countForAgent, findFeedback, findRecords } from './agent-read.ts'
import { limit, next, order } from './inputs.ts'
import { type Answered, defineTool } from './tool.ts'

const OTHERS = 5
const LATEST = 10
const TOP_GROUPS = 10
const NO_SUCH_RECORD: Refusal = { refused: 'no-such-record' }

const oneFeedback = v.strictObject({
  feedback: feedbackItem,
  customer: v.optional(customer),
  account: v.optional(account),
  project: v.optional(v.strictObject({ id: v.string(), name: v.string() })),
  sourceId: v.optional(v.string()),
  sourceData: v.optional(personalObject),
  othersOfCustomer: v.array(feedbackItem),
})

/** A feedback with its customer, account and project, and other feedback of the customer. */
export const readFeedback = async (
  asked: AgentRead,
  id: string,
): Promise<Answered<v.InferOutput<typeof oneFeedback>> | Refusal> => {
  const { workspaceId, sight, agentReads } = asked
  const found = await findRecord(asked, 'feedback', id)
  if (isRefusal(found)) return found
  const context = await withPermit(
    asked,
    async () => (await agentReads.feedbackContext(workspaceId, found.id)) ?? NO_SUCH_RECORD,
  )
  if (isRefusal(context)) return context
  const { customer: author, project } = context
  const others = author ? await findFeedback(asked, { customerId: author.id }, { limit: OTHERS + 1 }) : { feedback: [] }
  if (isRefusal(others)) return others
  const answer = definedMembers({
    feedback: feedbackOf(JSON.parse(found.json), sight, SINGLE_CHARACTERS),
    customer: author && customerOf(author, sight),
    account: context.account && accountOf(context.account, sight),
    project: project && { id: project.id, name: label(project.name, sight) },
    sourceId: personal(context.sourceId, sight),
    sourceData: personalObjectOf(context.sourceData, sight),
    othersOfCustomer: others.feedback.filter((other) => other.id !== found.id).slice(0, OTHERS),
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
  output: oneFeedback,
  run: (asked, { id }) => readFeedback(asked, id),
})

const story = v.strictObject({
  account,
  customers: v.pipe(v.number(), v.description('The number of customers (people) of the account.')),
  ...figures,
  topTags: v.array(group),
  weeks: v.pipe(v.array(group), v.description('The weeks up to the latest with feedback, the latest first.')),
  latest: v.array(feedbackItem),
})

/** The feedback of an account, in figures and in its latest quotes. */
export const readAccount = async (
  asked: AgentRead,
  given: string,
): Promise<Answered<v.InferOutput<typeof story>> | Refusal> => {
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
  const { groups: topTags, moreGroups: _, ...all } = counts
  const answer = {
    account: accountOf(found, sight),
    customers: found.customers,
    ...all,
    topTags,
    weeks: weeks.groups,
    latest: latest.feedback,
  }
  return { answer, records: counts.feedback }
}

export const accountStory = defineTool({
  name: 'account_story',
  title: "One account's story",
  description:
    'What an account (company) has said: how much, how satisfied, about which tags, in which weeks, and its latest ' +
    'words. Give either its id, as count_feedback with by=account returns it, or its exact name or domain.',
  input: v.pipe(
    v.strictObject({
      id: v.optional(ownId('The id of an account.')),
      nameOrDomain: v.optional(identifier('The name of the account, or its domain.')),
    }),
    v.check(
      ({ id, nameOrDomain }) => (id === undefined) !== (nameOrDomain === undefined),
      'given by id or nameOrDomain, not both',
    ),
  ),
  output: story,
  run: async (asked, { id, nameOrDomain = '' }) => {
    if (id !== undefined) return readAccount(asked, id)
    const found = await withPermit(asked, async () => {
      const named = await asked.agentReads.findAccount(asked.workspaceId, nameOrDomain)
      return named === undefined ? NO_SUCH_RECORD : { id: named }
    })
    return isRefusal(found) ? found : readAccount(asked, found.id)
  },
})

export const getConversation = defineTool({
  name: 'get_conversation',
  title: 'One conversation with its messages',
  description: 'One conversation by its id, with a page of its messages, by default the oldest first.',
  input: v.strictObject({
    id: ownId('The id of a conversation.'),
    order: v.optional(v.unwrap(order), 'oldest'),
    limit,
    next,
  }),
  output: v.strictObject({
    conversation: conversationItem,
    messages: v.array(messageItem),
    next: nextPage,
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
