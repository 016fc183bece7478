import {
  BANK,
  BY_SIZE,
  changesIn,
  groups,
  LATER,
  list,
  NEWEST,
  NOW,
  pick,
  type Question,
  RATED,
  FIGURE_NAMES,
  TAGS,
  total,
  words,
} from './demo-asking.ts'

const AMARA = 'amara.abara@harbour-lights-hotels.example.com'
const OF_AMARA = `contact_id = (select contact_id from contact_email where email = '${AMARA}')`
const USER_7 = `contact_id = (select contact_id from contact_external_id where external_id = 'user-07')`
const NPS = `round(100.0 * (count(*) filter (where rating >= 9) - count(*) filter (where rating <= 6)) / count(*), 1)::float8`
const SPLIT = `created_at >= '${LATER.from}'`
const IN_BOTH = `created_at >= timestamptz '${LATER.from}' - interval '28 days' and created_at < '${NOW}'`
const mean = (when: string): string => `avg(satisfaction) filter (where ${when})`

/** Questions that name a person or company, and questions about scales, money, NPS and conversations. */
export const KEYS: readonly Question[] = [
  [
    'What has Amara said?',
    async (call) => {
      const [{ id }] = (await call('resolve', { email: ` ${AMARA.toUpperCase()}` })).matches
      return list(call, { filters: { customerId: id } })
    },
    `select id from f where ${OF_AMARA} ${NEWEST} 10`,
  ],
  [
    'How often has our user-07 said something, month by month?',
    async (call) => {
      const [{ id }] = (await call('resolve', { externalId: 'user-07' })).matches
      const { groups: found } = await call('count_feedback', { by: 'customer,month', filters: { customerId: id } })
      return pick(found, 'customer', 'month', 'feedback')
    },
    `select contact_id, to_char(created_at at time zone 'utc', 'YYYY-MM'), count(*)::int from f where ${USER_7}
     group by 1, 2 order by 3 desc, 2`,
  ],
  [
    'Which account has the domain of the bank?',
    async (call) =>
      pick((await call('resolve', { domain: 'https://www.Cedar-Bridge-Bank.example.com/x' })).matches, 'kind', 'id'),
    `select 'account', ${BANK}`,
  ],
  [
    'Which companies have "cedar" or "bank" in their names?',
    async (call) => [
      ...pick((await call('resolve', { name: 'CEDAR' })).matches, 'kind', 'id', 'contractValue'),
      ...pick((await call('resolve', { name: 'bridge ba' })).matches, 'kind', 'id', 'contractValue'),
    ],
    `select 'account', id, contract_value::float8 from account, generate_series(1, 2) where name = 'Cedar Bridge Bank'`,
  ],
  [
    'How content is the bank, by product?',
    async (call) => {
      const { matches } = await call('resolve', { name: 'Cedar Bridge' })
      return groups({ by: 'project', accountId: matches[0].id }, 'name', 'feedback', ...FIGURE_NAMES)(call)
    },
    `select (select name from project as p where p.id = project_id), count(*)::int, ${RATED} from f where of_account = ${BANK}
     group by project_id order by count(*) desc, project_id`,
  ],
  [
    'How content are our five most valuable accounts?',
    groups({ by: 'account', order: 'contractValue', limit: 5 }, 'name', 'contractValue', ...FIGURE_NAMES),
    `select a.name, a.contract_value::float8, ${RATED} from f join account as a on a.id = of_account
     group by a.id, a.name, a.contract_value order by a.contract_value desc, a.id limit 5`,
  ],
  [
    'Which accounts have the greatest share of bad ratings, and how much are they worth?',
    groups({ by: 'account', order: 'bad', limit: 4 }, 'key', 'bad', 'contractValue'),
    `select of_account, round(avg((satisfaction <= 0.4)::int), 4)::float8, (select contract_value::float8 from account as a where a.id = of_account)
     from f where of_account is not null group by 1 order by avg((satisfaction <= 0.4)::int) desc nulls last, 1 limit 4`,
  ],
  [
    'How much does each account say each month?',
    async (call) =>
      pick(
        (await call('count_feedback', { by: ['account', 'month'], limit: '6' })).groups,
        'account',
        'month',
        'feedback',
      ),
    `select of_account, to_char(created_at at time zone 'utc', 'YYYY-MM'), count(*)::int from f group by 1, 2
     order by 3 desc, 1 nulls first, 2 limit 6`,
  ],
  [
    'Which customers say most each month?',
    async (call) =>
      pick(
        (await call('count_feedback', { by: ['customer', 'month'], limit: 5 })).groups,
        'customer',
        'month',
        'feedback',
      ),
    `select contact_id, to_char(created_at at time zone 'utc', 'YYYY-MM'), count(*)::int from f group by 1, 2
     order by 3 desc, 1 nulls first, 2 limit 5`,
  ],
  [
    'Which topics come up in which source?',
    async (call) =>
      pick((await call('count_feedback', { by: ['tag', 'source'], limit: 7 })).groups, 'tag', 'source', 'feedback'),
    `select tag, source, count(*)::int ${TAGS} group by 1, 2 order by 3 desc, 1, 2 limit 7`,
  ],
  [
    'How much is bad, on any scale?',
    total({ satisfactionMax: '0.4' }, 'feedback'),
    'select count(*)::int from f where satisfaction <= 0.4',
  ],
  [
    'What do the happiest praise?',
    groups({ by: 'tag', satisfactionMin: 0.9, limit: 5 }, 'key', 'feedback'),
    `select tag, count(*)::int ${TAGS} where satisfaction >= 0.9 ${BY_SIZE} limit 5`,
  ],
  [
    'Which source is more content, on any scale?',
    groups({ by: 'source', order: 'satisfaction', limit: 2 }, 'key', ...FIGURE_NAMES),
    `select source, ${RATED} from f group by 1 order by avg(satisfaction), 1 limit 2`,
  ],
  [
    'What is the NPS?',
    async (call) => pick([await call('count_feedback', { nps: true })], 'nps', 'answers'),
    `select ${NPS}, count(*)::int from f where source = 'demo-survey' and rating is not null`,
  ],
  [
    'How does the NPS develop by month?',
    async (call) =>
      pick(
        (await call('count_feedback', { by: 'month', nps: 'true', filters: { source: 'demo-survey' } })).groups,
        'month',
        'nps',
      ),
    `select to_char(created_at at time zone 'utc', 'YYYY-MM'), ${NPS} from f where source = 'demo-survey' group by 1 order by 1 desc`,
  ],
  [
    'Do the stars of the other source have an NPS?',
    async (call) => pick([await call('count_feedback', { nps: true, filters: { source: 'demo' } })], 'nps'),
    'select null::int',
  ],
  [
    'Which topics make customers less content than before?',
    async (call) => {
      const { falls } = await call('compare_periods', { by: 'tag', later: LATER, order: 'satisfaction', limit: 5 })
      return changesIn(falls).map(({ tag, before, after }) => [tag, before['satisfaction'], after['satisfaction']])
    },
    `select tag, round(${mean(`not ${SPLIT}`)}::numeric, 4)::float8, round(${mean(SPLIT)}::numeric, 4)::float8 ${TAGS} where ${IN_BOTH}
     group by 1 having ${mean(SPLIT)} < ${mean(`not ${SPLIT}`)} order by ${mean(SPLIT)} - ${mean(`not ${SPLIT}`)}, 1 limit 5`,
  ],
  [
    'Are customers more content in March than in January?',
    async (call) => {
      const answer = await call('compare_periods', {
        by: 'source',
        earlier: { from: '2026-01-01', to: '2026-01-31' },
        later: { from: '2026-03-01', to: '2026-03-31' },
      })
      return pick([answer.before, answer.after], ...FIGURE_NAMES)
    },
    `select ${RATED} from f where extract(month from created_at at time zone 'utc') in (1, 3) and created_at >= '2026-01-01Z'
     group by date_trunc('month', created_at at time zone 'utc') order by date_trunc('month', created_at at time zone 'utc')`,
  ],
  [
    'How many conversations are there by source, and how many in all?',
    async (call) => {
      const { conversations, groups: found } = await call('count_feedback', { of: 'conversations', by: 'source' })
      return [[null, conversations], ...pick(found, 'source', 'conversations')]
    },
    `select null, count(*)::int from conversation union all (select source, count(*)::int from conversation group by 1 order by 2 desc, 1)`,
  ],
  [
    'With which accounts did we talk most?',
    async (call) =>
      pick((await call('count_feedback', { of: 'conversations', by: 'account' })).groups, 'account', 'conversations'),
    `select c.account_id, count(distinct o.conversation_id)::int from conversation_contact as o join contact as c on c.id = o.contact_id
     group by 1 order by 2 desc, 1`,
  ],
  [
    'In which conversations is the picture named?',
    async (call) => list(call, { of: 'conversations', filters: { q: 'picture' }, limit: 20 }),
    `select id from conversation as r where title ~* '\\mpictures?\\M'
       or exists (select from message as m where m.conversation_id = r.id and content ~* '\\mpictures?\\M') ${NEWEST} 20`,
  ],
  [
    'Which accounts that name the battery are worth most?',
    groups({ by: 'account', order: 'contractValue', q: 'battery', limit: 3 }, 'name', 'contractValue', 'feedback'),
    `select a.name, a.contract_value::float8, count(*)::int from f join account as a on a.id = of_account where ${words('battery')}
     group by a.id, a.name, a.contract_value order by a.contract_value desc nulls last, a.id limit 3`,
  ],
  [
    'How is the topic written that has to do with batteries?',
    async (call) => pick((await call('resolve', { name: 'BATTERY' })).matches, 'kind', 'name'),
    `select kind, name from (
      select 'tag' as kind, title as name from feedback_category
      union all select 'theme', name from theme where shown_id = id
    ) as n where name ilike '%battery%' order by length(name), kind, name limit 20`,
  ],
]
