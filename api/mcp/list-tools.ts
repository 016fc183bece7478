import * as v from 'valibot'
import { isRefusal } from '../http/refusal.ts'
import { conversationOf } from './answers.ts'
import { findFeedback, findRecords } from './agent-read.ts'
import { hintsOf } from './hints.ts'
import { filters, limit, next, of, order } from './inputs.ts'
import { defineTool, invalid } from './tool.ts'

export const listFeedback = defineTool({
  name: 'list_feedback',
  title: 'List and search feedback or conversations',
  description:
    'Records that match the filters, in the words of customers; filters.q searches the words. Of conversations it lists titles, and q ' +
    'also searches the messages, which get_conversation has. Never count records of pages: count_feedback counts. A page can be short ' +
    'although there is a `next`: follow it.',
  input: v.strictObject({ of, filters, order, limit, next }),
  run: async (asked, { of: kind, filters: wanted, order: first, limit: most, next: from }) => {
    if (kind === 'feedback') {
      const page = await findFeedback(asked, wanted, { limit: most, next: from, order: first })
      if (isRefusal(page)) return page
      const { records, next: more, unknownWords } = page
      const hints = hintsOf(wanted, { found: more === null && from === undefined ? records.length : 1, unknownWords })
      return { answer: { hints, feedback: records, next: more }, records: records.length }
    }
    if (wanted.projectId !== undefined) return NO_PROJECTS
    const list = { kind: 'conversation', limit: most, isOldestFirst: first === 'oldest', filters: wanted } as const
    const page = await findRecords(asked, list, { from, shownAs: conversationOf })
    if (isRefusal(page)) return page
    const { records, next: more, unknownWords } = page
    const hints = hintsOf(wanted, { found: more === null && from === undefined ? records.length : 1, unknownWords })
    return { answer: { hints, conversations: records, next: more }, records: records.length }
  },
})

const NO_PROJECTS = invalid(['conversations have no project: leave out filters.projectId, or list feedback'])
