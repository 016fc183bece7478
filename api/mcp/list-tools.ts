import * as v from 'valibot'
import type { FeedbackFilters } from '../../db/reads/lists.ts'
import { isRefusal, type Refusal } from '../http/refusal.ts'
import { conversationItem, conversationOf, feedbackItem, nextPage } from './answers.ts'
import { type AgentRead, type FeedbackPage, findFeedback, findRecords } from './agent-read.ts'
import { filters, filtersOf, limit, next, order, ratings, searchedWords, span, tag } from './inputs.ts'
import { quoteSchema } from './quote.ts'
import { type Answered, defineTool } from './tool.ts'

const hint = v.optional(v.pipe(v.string(), v.description('Which words occur nowhere, if nothing is found.')))
const feedbackPage = v.strictObject({ feedback: v.array(feedbackItem), next: nextPage, hint })

const pageOf = async (
  asked: AgentRead,
  wanted: FeedbackFilters,
  page: FeedbackPage,
): Promise<Answered<v.InferOutput<typeof feedbackPage>> | Refusal> => {
  const found = await findFeedback(asked, wanted, page)
  return isRefusal(found) ? found : { answer: found, records: found.feedback.length }
}

export const searchFeedback = defineTool({
  name: 'search_feedback',
  title: 'Search feedback by words',
  description:
    'Finds feedback in which all given words occur in some form, the newest first. To count it, use count_feedback with the same ' +
    'words. A page can be short although the list goes on: if there is a `next`, follow it.',
  input: v.strictObject({ words: searchedWords, ...filters, ...span, limit, next }),
  output: feedbackPage,
  run: (asked, given) => pageOf(asked, filtersOf(given), given),
})

export const listFeedback = defineTool({
  name: 'list_feedback',
  title: 'List feedback',
  description:
    'Lists feedback that matches all given filters, with quotes. Never count the items of pages: use count_feedback ' +
    'with the same filters.',
  input: v.strictObject({ ...filters, ...span, order, limit, next }),
  output: feedbackPage,
  run: (asked, given) => pageOf(asked, filtersOf(given), given),
})

export const quotesForTag = defineTool({
  name: 'quotes_for_tag',
  title: 'Quotes for a tag',
  description: 'What customers said about a topic in their own words: feedback with a tag, the newest first.',
  input: v.strictObject({ tag, ...ratings, ...span, limit, next }),
  output: v.strictObject({
    quotes: v.array(v.strictObject({ createdAt: v.string(), rating: v.optional(v.number()), quote: quoteSchema })),
    next: nextPage,
  }),
  run: async (asked, { tag: wanted, ...given }) => {
    const page = await findFeedback(asked, filtersOf({ ...given, tags: [wanted] }), given)
    if (isRefusal(page)) return page
    const quotes = page.feedback.map(({ createdAt, rating, quote }) => ({
      createdAt,
      ...(rating !== undefined && { rating }),
      quote,
    }))
    return { answer: { quotes, next: page.next }, records: quotes.length }
  },
})

export const listConversations = defineTool({
  name: 'list_conversations',
  title: 'List conversations',
  description: 'Lists the titles of conversations with customers. get_conversation has the messages.',
  input: v.strictObject({ order, limit, next }),
  output: v.strictObject({ conversations: v.array(conversationItem), next: nextPage }),
  run: async (asked, { order: first, limit: most, next: from }) => {
    const list = { kind: 'conversation', limit: most, isOldestFirst: first === 'oldest', filters: {} } as const
    const page = await findRecords(asked, list, { from, shownAs: conversationOf })
    if (isRefusal(page)) return page
    return { answer: { conversations: page.records, next: page.next }, records: page.records.length }
  },
})
