import type { AccountStory, FeedbackContext } from '../../db/reads/context.ts'
import type { compareSpans, Comparison, countFeedback, Counts } from '../../db/reads/insights.ts'
import type { ListRequest } from '../../db/reads/lists.ts'
import { isRefusal, type Refusal } from '../refusal.ts'
import { type Page, readPage, withCurrentIds } from '../reads/lists.ts'
import { type Read, withPermit } from '../reads/reads.ts'
import type { Sight } from './quote.ts'

/** The reads of agents alone. Each rejects if the database does not answer in time. */
export type AgentReads = {
  count: (asked: Parameters<typeof countFeedback>[1]) => Promise<Counts>
  compare: (asked: Parameters<typeof compareSpans>[1]) => Promise<Comparison>
  feedbackContext: (workspaceId: string, asked: { id: string; others: number }) => Promise<FeedbackContext | undefined>
  accountStory: (workspaceId: string, asked: { id: string; latest: number }) => Promise<AccountStory | undefined>
  findAccount: (workspaceId: string, nameOrDomain: string) => Promise<string | undefined>
}

/** One call of an agent, in the workspace of its token. */
export type Asked = Read & { sight: Sight; agentReads: AgentReads; now: () => Date }

/** The most pages that one answer reads. */
const MOST_ROUNDS = 5

/** The next records of a list. They can be fewer than `limit` although the list goes on. */
export const findRecords = async (
  asked: Asked,
  wanted: Pick<ListRequest, 'kind' | 'limit' | 'isOldest' | 'filters'>,
  from: string | undefined,
): Promise<{ records: unknown[]; next: string | null } | Refusal> => {
  const records: unknown[] = []
  let next: string | undefined = from
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const page: Page | Refusal = await readPage(asked, { ...wanted, limit: wanted.limit - records.length }, next)
    if (isRefusal(page)) return page
    records.push(...(JSON.parse(`[${page.records}]`) as unknown[]))
    next = (JSON.parse(page.next) as string | null) ?? undefined
    if (next === undefined || records.length >= wanted.limit) break
  }
  return { records, next: next ?? null }
}

type InWorkspace<T> = Omit<T, 'workspaceId'>

export const countIn = (
  asked: Asked,
  given: InWorkspace<Parameters<typeof countFeedback>[1]>,
): Promise<Counts | Refusal> =>
  withPermit(asked, async () =>
    asked.agentReads.count({
      ...given,
      workspaceId: asked.workspaceId,
      filters: await withCurrentIds(asked, given.filters),
    }),
  )

export const compareIn = (
  asked: Asked,
  given: InWorkspace<Parameters<typeof compareSpans>[1]>,
): Promise<Comparison | Refusal> =>
  withPermit(asked, async () =>
    asked.agentReads.compare({
      ...given,
      workspaceId: asked.workspaceId,
      filters: await withCurrentIds(asked, given.filters),
    }),
  )
