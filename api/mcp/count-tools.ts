import * as v from 'valibot'
import { endTime, time } from '../../contract/feedback-filters.ts'
import { instantOf } from '../../contract/date-time.ts'
import type { ComparedSpan } from '../../db/reads/comparison.ts'
import { ORDERS } from '../../db/reads/counts.ts'
import type { Dimensions } from '../../db/reads/dimensions.ts'
import type { FeedbackFilters } from '../../db/reads/filters.ts'
import { isRefusal, type Refusal } from '../http/refusal.ts'
import { findDeclared } from '../reads/declared-fields.ts'
import { withPermit } from '../reads/reads.ts'
import { shortTime } from './answers.ts'
import { type AgentRead, compareForAgent, countForAgent } from './agent-read.ts'
import { hintsOf } from './hints.ts'
import { choice, comparedDimension, dimensions, filters, groupLimit, next, of } from './inputs.ts'
import { defineTool, invalid } from './tool.ts'

const MS_PER_DAY = 86_400_000
const USUAL_DAYS = 28
/** The earliest time of a feedback. */
const FIRST_TIME = Date.parse('0001-01-01T00:00:00Z')
const FIGURES_MEAN =
  '`satisfaction` is the mean of the `rated` ones on the scale of their source, from 0 (bad) to 1; `bad` is the share of them with at most 0.4.'

export const countTool = defineTool({
  name: 'count_feedback',
  title: 'Count feedback or conversations',
  description:
    'Exact figures, in total and in groups by one or two dimensions, such as ["account", "month"]. ' +
    `${FIGURES_MEAN} Compare satisfaction, not ratings: scales differ. By theme, it lists the themes. By tag, a feedback counts once for each tag, so groups can add up to more than the ` +
    'total. Weeks begin on Monday, in UTC; week and month come latest first. Accounts have their contract value.',
  input: v.strictObject({
    of,
    by: v.optional(dimensions),
    filters,
    order: v.optional(
      v.pipe(
        choice([...ORDERS, 'contractValue']),
        v.description(
          'feedback: most first. satisfaction: least first. bad: greatest share first. contractValue: greatest first, by account.',
        ),
      ),
    ),
    nps: v.optional(
      v.pipe(v.boolean(), v.description('Also the Net Promoter Score, of sources on a scale of 0 to 10.')),
      false,
    ),
    limit: groupLimit,
    next,
  }),
  run: async (asked, { of: kind, by, filters: wanted, order, nps, limit, next: from }) => {
    if (order === 'contractValue' && by?.[0] !== 'account') return ONLY_ACCOUNTS
    const isOfConversations = kind === 'conversations'
    if (isOfConversations && (nps || wanted.projectId !== undefined || by?.some((name) => name === 'project')))
      return NO_PROJECTS
    const counted = by ?? (['source'] as const)
    const counts = await countForAgent(asked, {
      of: isOfConversations ? 'conversation' : 'feedback',
      by: counted,
      order,
      filters: wanted,
      limit,
      next: from,
    })
    if (isRefusal(counts)) return counts
    const scores = nps ? await scoresFor(asked, counted, wanted) : undefined
    if (scores !== undefined && isRefusal(scores)) return scores
    const { groups, groupsInAll, next: more, unknownWords, ...total } = counts
    const shown = groups.map((group) => ({
      ...group,
      ...scores?.get(JSON.stringify(counted.map((name) => group[name] ?? null))),
    }))
    const answer = {
      ...total,
      ...(scores && (scores.get('total') ?? NO_SCORE)),
      hints: hintsOf(wanted, { found: total.feedback, by, unknownWords }),
      ...(by && { groups: shown, groupsInAll, next: more }),
    }
    return { answer: isOfConversations ? ofConversations(answer) : answer, records: total.feedback }
  },
})

const ONLY_ACCOUNTS = invalid(['order contractValue needs account as the first of by'])
const NO_PROJECTS = invalid(['conversations have no project and no nps: leave them out, or count feedback'])
/** No counted feedback has a rating on a scale of 0 to 10. */
const NO_SCORE = { nps: null, answers: 0 }

/** Conversations are counted under their name. */
const ofConversations = <T extends { feedback: number; groups?: { feedback: number }[] }>({
  feedback,
  groups,
  ...rest
}: T) => ({
  conversations: feedback,
  ...rest,
  groups: groups?.map(({ feedback: count, ...group }) => ({ ...group, conversations: count })),
})

type Score = { nps: number; answers: number; promoters: number; detractors: number }

/** The Net Promoter Scores of groups, by the JSON of their keys, and in `total`. */
const scoresFor = async (
  asked: AgentRead,
  by: Dimensions,
  wanted: FeedbackFilters,
): Promise<Map<string, Score> | Refusal> => {
  const found = await findDeclared(asked, { filters: wanted, by })
  if (isRefusal(found)) return found
  const request = { workspaceId: asked.workspaceId, by, filters: wanted, ...found }
  const rows = await withPermit(asked, () => asked.agentReads.countAnswers(request), 'countPermits')
  if (isRefusal(rows)) return rows
  return new Map(
    rows
      .filter(({ answers }) => answers > 0)
      .map(({ keys, answers, promoters, detractors }) => [
        keys === null ? 'total' : JSON.stringify(keys),
        { nps: Math.round((1_000 * (promoters - detractors)) / answers) / 10, answers, promoters, detractors },
      ]),
  )
}

const span = (description: string) =>
  v.optional(
    v.pipe(
      v.strictObject({
        from: time('From this date or time on.'),
        to: v.optional(endTime('A date includes its day; now if left out.')),
      }),
      v.description(description),
    ),
  )

export const comparePeriods = defineTool({
  name: 'compare_periods',
  title: 'What grows and what falls',
  description:
    'Compares two periods: which tags, accounts, sources and so on have more feedback in the later one, and which have less, the greatest ' +
    `changes first. With order satisfaction, which got more or less content. ${FIGURES_MEAN}`,
  input: v.strictObject({
    by: comparedDimension,
    later: span(`The later period; the last ${USUAL_DAYS} days if left out.`),
    earlier: span('The earlier period; as long, right before the later one, if left out.'),
    order: v.optional(choice(['feedback', 'satisfaction']), 'feedback'),
    filters,
    limit: groupLimit,
  }),
  run: async (asked, { by, later, earlier, order, filters: wanted, limit }) => {
    if (wanted.createdFrom !== undefined || wanted.createdTo !== undefined) return PERIODS_ONLY
    const [before, after] = spansOf(asked.now().getTime(), later, earlier)
    if (before.from >= before.to || after.from >= after.to) return EMPTY_PERIOD
    const bounds = { createdFrom: least(before.from, after.from), createdTo: greatest(before.to, after.to) }
    const found = await compareForAgent(asked, { by, filters: { ...wanted, ...bounds }, before, after, order, limit })
    if (isRefusal(found)) return found
    const figures = {
      before: { ...shortSpan(before), ...found.before },
      after: { ...shortSpan(after), ...found.after },
    }
    const records = found.before.feedback + found.after.feedback
    const answer = {
      ...figures,
      hints: hintsOf(wanted, { found: records, by: [by], unknownWords: found.unknownWords }),
      grows: found.grows,
      falls: found.falls,
    }
    return { answer, records }
  },
})

const PERIODS_ONLY = invalid([
  'filters.createdFrom and filters.createdTo do not fit here: put the times into later and earlier',
])
const EMPTY_PERIOD = invalid(['each period must begin before it ends'])

const least = (one: string, other: string): string => (one < other ? one : other)
const greatest = (one: string, other: string): string => (one > other ? one : other)
const shortSpan = ({ from, to }: ComparedSpan): ComparedSpan => ({ from: shortTime(from), to: shortTime(to) })

type GivenPeriod = { from: string; to?: string | undefined }

/** The earlier and the later span, in the form of `toISOString`. */
const spansOf = (
  now: number,
  later: GivenPeriod | undefined,
  earlier: GivenPeriod | undefined,
): [ComparedSpan, ComparedSpan] => {
  const to = later?.to === undefined ? now : msOf(later.to)
  const from = later === undefined ? to - USUAL_DAYS * MS_PER_DAY : msOf(later.from)
  const endOfEarlier = earlier?.to === undefined ? from : msOf(earlier.to)
  const startOfEarlier = earlier === undefined ? endOfEarlier - (to - from) : msOf(earlier.from)
  return [spanOf(startOfEarlier, endOfEarlier), spanOf(from, to)]
}

const msOf = (time_: string): number => instantOf(time_) / 1_000
const spanOf = (from: number, to: number): ComparedSpan => ({ from: timeAt(from), to: timeAt(to) })
const timeAt = (ms: number): string => new Date(Math.max(ms, FIRST_TIME)).toISOString()
