import { quotesIn, type ToolAnswer } from '../support/agent.ts'

/** When the demo ends. */
export const NOW = '2026-03-31T12:00:00.000Z'

/** The account of each feedback, from the tables and not from the view of the product. */
export const FEEDBACK = `with f as (
  select r.*, coalesce(r.account_id, c.account_id) as of_account from feedback as r left join contact as c on c.id = r.contact_id
)`
const MEAN = 'round(avg(rating)::numeric, 2)::float8'
const TAGS = 'from f, unnest(tags) as t (tag)'

export type Call = (tool: string, args?: Record<string, unknown>) => Promise<ToolAnswer>
/** The rows that the calls answer, and a statement over `f` that gives the same rows. */
export type Question = [question: string, answer: (call: Call) => Promise<unknown[][]>, sql: string]

const pick = (found: ToolAnswer[], ...members: string[]): unknown[][] =>
  found.map((each) => members.map((member) => each[member]))
const ids = (answer: unknown): unknown[][] => quotesIn(answer).map(({ id }) => [id])
/** Calls `count_feedback`, and returns members of its groups, or `total` of all feedback. */
const groups =
  (args: object, ...members: string[]) =>
  async (call: Call): Promise<unknown[][]> =>
    pick((await call('count_feedback', { limit: 50, ...args })).groups, ...members)
const total =
  (args: object, ...members: string[]) =>
  async (call: Call): Promise<unknown[][]> =>
    pick([await call('count_feedback', { by: 'source', ...args })], ...members)
/** The key with most feedback. */
const most = async (call: Call, by: string): Promise<string> =>
  (await call('count_feedback', { by, limit: 1 })).groups[0].key
const newest = async (call: Call): Promise<ToolAnswer> =>
  call('get_feedback', { id: (await call('list_feedback', { limit: 1 })).feedback[0].id })
const compared =
  (side: 'grows' | 'falls', args: object) =>
  async (call: Call): Promise<unknown[][]> =>
    pick((await call('compare_periods', { until: NOW, ...args }))[side], 'key', 'before', 'after')
const story =
  (nameOrDomain: string, rows: (answer: ToolAnswer) => unknown[][]) =>
  async (call: Call): Promise<unknown[][]> =>
    rows(await call('account_story', { nameOrDomain }))

const RATED = `count(rating)::int, ${MEAN}`
const BY_SIZE = 'group by 1 order by count(*) desc, 1'
const TOP_TAG = `(select tag ${TAGS} ${BY_SIZE} limit 1)`
const TOP_ACCOUNT = `(select of_account from f ${BY_SIZE} limit 1)`
const TOP_PROJECT = `(select project_id from f ${BY_SIZE} limit 1)`
const NEWEST = 'order by created_at desc, id desc limit'
const WEEK = `to_char(date_trunc('week', created_at at time zone 'utc'), 'YYYY-MM-DD')`
const BANK = `(select id from account where name = 'Cedar Bridge Bank')`
const CUSTOMER = `(select contact_id from f ${NEWEST} 1)`
const words = (...given: string[]): string =>
  given.map((word) => `concat_ws(' ', title, description) ilike '%${word}%'`).join(' and ')
const spans = (key: string, from: string, days: number): string => `from (
  select ${key} as key, count(*) filter (where created_at < timestamptz '${NOW}' - interval '${days} days')::int as before,
    count(*) filter (where created_at >= timestamptz '${NOW}' - interval '${days} days')::int as after
  ${from} where created_at >= timestamptz '${NOW}' - interval '${2 * days} days' and created_at < '${NOW}' group by 1
) as s`
const changed = (key: string, from: string, sign: '>' | '<'): string =>
  `select key, before, after ${spans(key, from, 28)} where after ${sign} before order by abs(after - before) desc, s.key limit 5`

export const QUESTIONS: readonly Question[] = [
  ['How much feedback is there?', total({}, 'feedback'), 'select count(*)::int from f'],
  ['How content are customers?', total({}, 'rated', 'averageRating'), `select ${RATED} from f`],
  [
    'How much came in February?',
    total({ createdFrom: '2026-02-01', createdTo: '2026-03-01' }, 'feedback'),
    `select count(*)::int from f where created_at >= '2026-02-01Z' and created_at < '2026-03-01Z'`,
  ],
  [
    'How much came in a week?',
    total({ createdFrom: '2026-03-24T12:00:00Z' }, 'feedback'),
    `select count(*)::int from f where created_at >= '2026-03-24 12:00Z'`,
  ],
  ['How much is unhappy?', total({ ratingMax: 2 }, 'feedback'), 'select count(*)::int from f where rating <= 2'],
  ['How much is happy?', total({ ratingMin: 4 }, 'feedback'), 'select count(*)::int from f where rating >= 4'],
  [
    'How often is the battery named?',
    total({ words: 'battery' }, 'feedback'),
    `select count(*)::int from f where ${words('battery')}`,
  ],
  [
    'How content are those who name battery life?',
    total({ words: 'Battery LIFE' }, 'feedback', 'averageRating'),
    `select count(*)::int, ${MEAN} from f where ${words('battery', 'life')}`,
  ],
  [
    'How much did the loudest account say?',
    async (call) => total({ accountId: await most(call, 'account') }, 'feedback', 'rated', 'averageRating')(call),
    `select count(*)::int, ${RATED} from f where of_account = ${TOP_ACCOUNT}`,
  ],
  [
    'How much did the customer of the newest feedback say?',
    async (call) => total({ customerId: (await newest(call)).customer.id }, 'feedback')(call),
    `select count(*)::int from f where contact_id = ${CUSTOMER}`,
  ],

  [
    'Which topics come up most?',
    groups({ by: 'tag', limit: 5 }, 'key', 'feedback'),
    `select tag, count(*)::int ${TAGS} ${BY_SIZE} limit 5`,
  ],
  [
    'How many topics are there, that of feedback without a tag included?',
    async (call) => {
      const { groups: found, moreGroups } = await call('count_feedback', { by: 'tag', limit: 10 })
      return [[found.length + moreGroups]]
    },
    `select count(*)::int from (select tag from f left join unnest(tags) as t (tag) on true group by 1) as g`,
  ],
  [
    'What are the unhappy topics?',
    groups({ by: 'tag', ratingMax: 2, limit: 5 }, 'key', 'feedback', 'averageRating'),
    `select tag, count(*)::int, ${MEAN} ${TAGS} where rating <= 2 ${BY_SIZE} limit 5`,
  ],
  [
    'Which topics does the commonest product have?',
    async (call) => groups({ by: 'tag', projectId: await most(call, 'project'), limit: 8 }, 'key', 'feedback')(call),
    `select tag, count(*)::int ${TAGS} where project_id = ${TOP_PROJECT} ${BY_SIZE} limit 8`,
  ],
  [
    'Which topics come together with the commonest?',
    async (call) => groups({ by: 'tag', tags: [await most(call, 'tag')], limit: 4 }, 'key', 'feedback')(call),
    `select tag, count(*)::int ${TAGS} where ${TOP_TAG} = any (tags) ${BY_SIZE} limit 4`,
  ],

  [
    'How much comes each week?',
    groups({ by: 'week' }, 'key', 'feedback'),
    `select ${WEEK}, count(*)::int from f group by 1 order by 1 desc`,
  ],
  [
    'How does the rating develop?',
    groups({ by: 'week', limit: 12 }, 'key', 'rated', 'averageRating'),
    `select ${WEEK}, ${RATED} from f group by 1 order by 1 desc limit 12`,
  ],
  [
    'In which weeks does the commonest topic come up?',
    async (call) => groups({ by: 'week', tags: [await most(call, 'tag')] }, 'key', 'feedback')(call),
    `select ${WEEK}, count(*)::int from f where ${TOP_TAG} = any (tags) group by 1 order by 1 desc`,
  ],

  [
    'Which accounts say most?',
    groups({ by: 'account', limit: 5 }, 'key', 'feedback'),
    `select of_account, count(*)::int from f ${BY_SIZE} limit 5`,
  ],
  [
    'Which accounts name the battery?',
    groups({ by: 'account', words: 'battery' }, 'key', 'feedback'),
    `select of_account, count(*)::int from f where ${words('battery')} ${BY_SIZE}`,
  ],
  [
    'Which account is least content?',
    async (call) => {
      const rows = await groups({ by: 'account' }, 'averageRating', 'key')(call)
      return rows
        .toSorted((a, b) => Number(a[0]) - Number(b[0]) || String(a[1]).localeCompare(String(b[1])))
        .slice(0, 1)
    },
    `select ${MEAN}, of_account from f group by 2 order by 1, 2 limit 1`,
  ],

  [
    'What do products get?',
    groups({ by: 'project' }, 'key', 'name', 'feedback', 'rated', 'averageRating'),
    `select f.project_id, p.name, count(*)::int, ${RATED} from f join project as p on p.id = f.project_id group by 1, 2 order by 3 desc, 1`,
  ],
  [
    'Which products are named with the battery?',
    groups({ by: 'project', words: 'battery' }, 'key', 'feedback'),
    `select project_id, count(*)::int from f where ${words('battery')} ${BY_SIZE}`,
  ],
  [
    'Where does feedback come from?',
    groups({ by: 'source' }, 'key', 'feedback', 'averageRating'),
    `select source, count(*)::int, ${MEAN} from f ${BY_SIZE}`,
  ],
  [
    'Where does harsh feedback come from?',
    groups({ by: 'source', source: 'demo', ratingMax: 1 }, 'key', 'feedback'),
    `select source, count(*)::int from f where rating <= 1 and source = 'demo' ${BY_SIZE}`,
  ],
  [
    'How are the ratings spread?',
    groups({ by: 'rating' }, 'key', 'feedback'),
    `select rating::text, count(*)::int from f ${BY_SIZE}`,
  ],
  [
    'How does the loudest account rate?',
    async (call) => groups({ by: 'rating', accountId: await most(call, 'account') }, 'key', 'feedback')(call),
    `select rating::text, count(*)::int from f where of_account = ${TOP_ACCOUNT} ${BY_SIZE}`,
  ],

  [
    'What is new since a week?',
    async (call) => pick([await call('whats_new', { since: '2026-03-24' })], 'feedback', 'rated', 'averageRating'),
    `select count(*)::int, ${RATED} from f where created_at >= '2026-03-24Z'`,
  ],
  [
    'Which topics are of this week?',
    async (call) => pick((await call('whats_new', { since: '2026-03-24' })).topTags, 'key', 'feedback'),
    `select tag, count(*)::int ${TAGS} where created_at >= '2026-03-24Z' ${BY_SIZE} limit 10`,
  ],
  [
    'What do they say this week?',
    async (call) => ids(await call('whats_new', { since: '2026-03-24', limit: 5 })),
    `select id from f where created_at >= '2026-03-24Z' ${NEWEST} 5`,
  ],
  ['Which topics grow?', compared('grows', { by: 'tag', limit: 5 }), changed('tag', TAGS, '>')],
  ['Which topics fall?', compared('falls', { by: 'tag', limit: 5 }), changed('tag', TAGS, '<')],
  [
    'Which accounts say more than before?',
    compared('grows', { by: 'account', limit: 5 }),
    changed('of_account', 'from f', '>'),
  ],
  [
    'Which products are less spoken of?',
    compared('falls', { by: 'project', limit: 5 }),
    changed('project_id', 'from f', '<'),
  ],
  [
    'Is there more than a week before?',
    async (call) => {
      const { before, after } = await call('compare_periods', { by: 'source', days: 7, until: NOW })
      return [[before.feedback, after.feedback]]
    },
    `select sum(before)::int, sum(after)::int ${spans('source', 'from f', 7)}`,
  ],

  ['What came last?', async (call) => ids(await call('list_feedback', { limit: 3 })), `select id from f ${NEWEST} 3`],
  [
    'What came first?',
    async (call) => ids(await call('list_feedback', { order: 'oldest', limit: 1 })),
    'select id from f order by created_at, id limit 1',
  ],
  [
    'What does the loudest account complain about?',
    async (call) =>
      ids(await call('list_feedback', { accountId: await most(call, 'account'), ratingMax: 2, limit: 20 })),
    `select id from f where of_account = ${TOP_ACCOUNT} and rating <= 2 ${NEWEST} 20`,
  ],
  [
    'What praise does the commonest product get?',
    async (call) => ids(await call('list_feedback', { projectId: await most(call, 'project'), ratingMin: 4 })),
    `select id from f where project_id = ${TOP_PROJECT} and rating >= 4 ${NEWEST} 10`,
  ],
  [
    'Who names the battery?',
    async (call) => ids(await call('search_feedback', { words: 'battery', limit: 20 })),
    `select id from f where ${words('battery')} ${NEWEST} 20`,
  ],
  [
    'What else is there about the screen?',
    async (call) => {
      const { next } = await call('search_feedback', { words: 'screen', limit: 5 })
      return ids(await call('search_feedback', { words: 'screen', limit: 5, next }))
    },
    `select id from f where ${words('screen')} ${NEWEST} 5 offset 5`,
  ],
  [
    'Which unhappy people name the phone?',
    async (call) => ids(await call('search_feedback', { words: 'phone', ratingMax: 2 })),
    `select id from f where ${words('phone')} and rating <= 2 ${NEWEST} 10`,
  ],
  [
    'How do they put the commonest topic?',
    async (call) => ids(await call('quotes_for_tag', { tag: await most(call, 'tag') })),
    `select id from f where ${TOP_TAG} = any (tags) ${NEWEST} 10`,
  ],
  [
    'And the unhappy ones in February?',
    async (call) =>
      ids(
        await call('quotes_for_tag', {
          tag: await most(call, 'tag'),
          ratingMax: 3,
          createdFrom: '2026-02-01',
          createdTo: '2026-03-01',
        }),
      ),
    `select id from f where ${TOP_TAG} = any (tags) and rating <= 3 and created_at >= '2026-02-01Z' and created_at < '2026-03-01Z' ${NEWEST} 10`,
  ],

  [
    'Who gave the newest feedback, and about what?',
    async (call) => {
      const { feedback, customer, account, project } = await newest(call)
      return [[feedback.id, customer.id, customer.feedback, account.id, project.name]]
    },
    `select f.id, contact_id, (select count(*)::int from f as o where o.contact_id = f.contact_id), of_account, p.name
     from f join project as p on p.id = f.project_id order by f.created_at desc, f.id desc limit 1`,
  ],
  [
    'What else did they say?',
    async (call) => ids((await newest(call)).othersOfCustomer),
    `select id from f where contact_id = ${CUSTOMER} ${NEWEST} 5 offset 1`,
  ],
  [
    'How content is the bank?',
    story('Cedar Bridge Bank', (answer) => pick([answer], 'customers', 'feedback', 'rated', 'averageRating')),
    `select (select count(*)::int from contact where account_id = ${BANK}), count(*)::int, ${RATED} from f where of_account = ${BANK}`,
  ],
  [
    'What are its topics?',
    story('cedar-bridge-bank.example.com', ({ topTags }) => pick(topTags, 'key', 'feedback')),
    `select tag, count(*)::int ${TAGS} where of_account = ${BANK} ${BY_SIZE} limit 10`,
  ],
  [
    'When did it say so?',
    story('Cedar Bridge Bank', ({ weeks }) => pick(weeks, 'key', 'feedback')),
    `select ${WEEK}, count(*)::int from f where of_account = ${BANK} group by 1 order by 1 desc limit 10`,
  ],
  ['And in which words?', story('Cedar Bridge Bank', ids), `select id from f where of_account = ${BANK} ${NEWEST} 10`],
  [
    'Which conversations are there?',
    async (call) => ids(await call('list_conversations')),
    `select id from conversation ${NEWEST} 10`,
  ],
  [
    'What was said in the latest?',
    async (call) => {
      const [{ id }] = (await call('list_conversations', { limit: 1 })).conversations
      return pick((await call('get_conversation', { id, limit: 20 })).messages, 'id', 'from', 'createdAt')
    },
    `select id, case when incoming then 'customer' else 'team' end, to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
     from message where conversation_id = (select id from conversation ${NEWEST} 1) order by created_at, id`,
  ],
]
