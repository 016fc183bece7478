import { quotesIn, type ToolAnswer } from '../support/agent.ts'

/** When the demo ends. */
export const NOW = '2026-03-31T12:00:00.000Z'

/** Kinds of feedback that the demo lacks. The last feedback gets its account from its customer. */
export const MORE_FEEDBACK = [
  { tags: [], contact: { email: 'stranger@example.org' } },
  { tags: ['battery', 'screen'], rating: 1, source: 'Store' },
  { tags: ['battery'], rating: 2.5, contact: { email: 'amara.abara@harbour-lights-hotels.example.com' } },
].map((body, at) => ({
  operation: 'create_feedback',
  body: {
    description: `More about the battery, ${at}`,
    project: { name: 'Tablet' },
    createdAt: `2026-03-2${at}T12:00:00Z`,
    ...body,
  },
}))

/**
 * Defines `f`: each feedback with its account and its satisfaction. The other sources have too few
 * ratings to show a scale. It uses no function, view or scale of the service.
 */
export const FEEDBACK = `with f as (
  select r.*, coalesce(r.account_id, c.account_id) as of_account,
    case source when 'demo' then (rating - 1) / 4 when 'demo-survey' then rating / 10 end as satisfaction
  from feedback as r left join contact as c on c.id = r.contact_id
)`
/** A mean of satisfaction, with its count before it and the share of bad ones after it. */
export const RATED = `count(satisfaction)::int, round(avg(satisfaction)::numeric, 4)::float8,
  round(avg((satisfaction <= 0.4)::int), 4)::float8`
/** The members of an answer with these figures. */
export const FIGURE_NAMES = ['rated', 'satisfaction', 'bad']
export const TAGS = 'from f, unnest(tags) as t (tag)'

type Call = (tool: string, args?: Record<string, unknown>) => Promise<ToolAnswer>
/**
 * A question, a function that gets the rows of the answer by calls, and a statement over `f` that
 * returns the same rows.
 */
export type Question = [question: string, answer: (call: Call) => Promise<unknown[][]>, sql: string]

export const pick = (found: readonly Readonly<Record<string, unknown>>[], ...members: string[]): unknown[][] =>
  found.map((each) => members.map((member) => each[member]))
export const ids = (answer: unknown): unknown[][] => quotesIn(answer).map(({ id }) => [id])
type CountArgs = Readonly<Record<string, unknown>> & { filters?: object }
/**
 * Calls `count_feedback`, and returns these members of its groups. `key` stands for the dimension,
 * and `name` for its name.
 */
export const groups =
  ({ by, limit = 50, order, ...filters }: CountArgs & { by: string }, ...members: string[]) =>
  async (call: Call): Promise<unknown[][]> => {
    const named = members.map((member) => (member === 'key' ? by : member === 'name' ? `${by}Name` : member))
    return pick((await call('count_feedback', { by, limit, order, filters })).groups, ...named)
  }
/** Calls `count_feedback`, and returns these members for all feedback together. */
export const total =
  (filters: object, ...members: string[]) =>
  async (call: Call): Promise<unknown[][]> =>
    pick([await call('count_feedback', { filters })], ...members)
/** The key of the largest group. */
export const most = async (call: Call, by: string): Promise<string> =>
  (await call('count_feedback', { by, limit: 1 })).groups[0][by] as string
export const list = async (call: Call, args: Readonly<Record<string, unknown>>): Promise<unknown[][]> =>
  ids(await call('list_feedback', args))
export const newest = async (call: Call): Promise<ToolAnswer> =>
  call('get_feedback', { id: (await call('list_feedback', { limit: 1 })).feedback[0].id })
export const AGO = (days: number): string => new Date(Date.parse(NOW) - days * 86_400_000).toISOString()
export const LATER = { from: AGO(28), to: NOW }
export const compared =
  (side: 'grows' | 'falls', { by, ...args }: { by: string; limit: number }) =>
  async (call: Call): Promise<unknown[][]> => {
    const answer = await call('compare_periods', { by, later: LATER, ...args })
    return changesIn(answer[side]).map(({ before, after, ...group }) => [
      group[by],
      before['feedback'],
      after['feedback'],
    ])
  }
type Change = { before: Record<string, unknown>; after: Record<string, unknown>; [key: string]: unknown }
/** The changed groups of `compare_periods`. */
export const changesIn = (groups_: unknown): Change[] => groups_ as Change[]
export const story =
  (account: string, rows: (answer: ToolAnswer) => unknown[][]) =>
  async (call: Call): Promise<unknown[][]> =>
    rows(await call('account_story', { account }))

export const BY_SIZE = 'group by 1 order by count(*) desc, 1 nulls first'
export const TOP_TAG = `(select tag ${TAGS} ${BY_SIZE} limit 1)`
export const TOP_ACCOUNT = `(select of_account from f ${BY_SIZE} limit 1)`
export const TOP_PROJECT = `(select project_id from f ${BY_SIZE} limit 1)`
export const NEWEST = 'order by created_at desc, id desc limit'
const WEEK = `date_trunc('week', created_at at time zone 'utc')`
/** Figures of every week from the first to the last with such feedback. */
export const weekly = (figures: string, condition = 'true'): string =>
  `select to_char(w, 'YYYY-MM-DD'), ${figures}
  from (select generate_series(min(${WEEK}), max(${WEEK}), interval '1 week') as w from f where ${condition}) as s
  left join f on ${WEEK} = w and ${condition} group by w order by w desc`
export const BANK = `(select id from account where name = 'Cedar Bridge Bank')`
export const CUSTOMER = `(select contact_id from f ${NEWEST} 1)`
export const words = (...given: string[]): string =>
  given.map((word) => `concat_ws(' ', title, description) ~* '\\m${word.replace(/y$/, '(y|ie)')}s?\\M'`).join(' and ')
export const spans = (key: string, from: string, days: number): string => `from (
  select ${key} as key, count(*) filter (where created_at < timestamptz '${NOW}' - interval '${days} days')::int as before,
    count(*) filter (where created_at >= timestamptz '${NOW}' - interval '${days} days')::int as after
  ${from} where created_at >= timestamptz '${NOW}' - interval '${2 * days} days' and created_at < '${NOW}' group by 1
) as s`
export const changed = (key: string, from: string, sign: '>' | '<'): string =>
  `select key, before, after ${spans(key, from, 28)} where after ${sign} before order by abs(after - before) desc, s.key limit 5`
