import {
  BANK,
  BY_SIZE,
  CUSTOMER,
  FIGURE_NAMES,
  ids,
  list,
  most,
  newest,
  NEWEST,
  pick,
  type Question,
  RATED,
  story,
  TAGS,
  TOP_ACCOUNT,
  TOP_PROJECT,
  TOP_TAG,
  weekly,
  words,
} from './demo-asking.ts'

/** Questions whose answers are records, and questions about one account. */
export const RECORDS: readonly Question[] = [
  [
    'What do they say this week?',
    async (call) => list(call, { filters: { createdFrom: '2026-03-24' }, limit: 5 }),
    `select id from f where created_at >= '2026-03-24Z' ${NEWEST} 5`,
  ],
  ['What came last?', async (call) => list(call, { limit: 3 }), `select id from f ${NEWEST} 3`],
  [
    'What came first?',
    async (call) => list(call, { order: 'oldest', limit: 1 }),
    'select id from f order by created_at, id limit 1',
  ],
  [
    'What does the loudest account complain about?',
    async (call) => list(call, { filters: { accountId: await most(call, 'account'), ratingMax: 2 }, limit: 20 }),
    `select id from f where of_account = ${TOP_ACCOUNT} and rating <= 2 ${NEWEST} 20`,
  ],
  [
    'What praise does the commonest product get?',
    async (call) => list(call, { filters: { projectId: await most(call, 'project'), ratingMin: 4 } }),
    `select id from f where project_id = ${TOP_PROJECT} and rating >= 4 ${NEWEST} 10`,
  ],
  [
    'Who names the battery?',
    async (call) => list(call, { filters: { q: 'battery' }, limit: 20 }),
    `select id from f where ${words('battery')} ${NEWEST} 20`,
  ],
  [
    'What else is there about the screen?',
    async (call) => {
      const { next } = await call('list_feedback', { filters: { q: 'screen' }, limit: 5 })
      return list(call, { filters: { q: 'screen' }, limit: 5, next })
    },
    `select id from f where ${words('screen')} ${NEWEST} 5 offset 5`,
  ],
  [
    'Which unhappy people name the phone?',
    async (call) => list(call, { filters: { q: 'phone', ratingMax: 2 } }),
    `select id from f where ${words('phone')} and rating <= 2 ${NEWEST} 10`,
  ],
  [
    'How do they put the commonest topic?',
    async (call) => list(call, { filters: { tag: await most(call, 'tag') } }),
    `select id from f where ${TOP_TAG} = any (tags) ${NEWEST} 10`,
  ],
  [
    'And the unhappy ones in February?',
    async (call) =>
      list(call, {
        filters: {
          tag: await most(call, 'tag'),
          ratingMax: 3,
          createdFrom: '2026-02-01',
          createdTo: '2026-02-28',
        },
      }),
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
    story('Cedar Bridge Bank', (answer) => pick([answer], 'customers', 'feedback', ...FIGURE_NAMES)),
    `select (select count(*)::int from contact where account_id = ${BANK}), count(*)::int, ${RATED} from f where of_account = ${BANK}`,
  ],
  [
    'What are its topics?',
    story('cedar-bridge-bank.example.com', ({ topTags }) => pick(topTags, 'tag', 'feedback')),
    `select tag, count(*)::int ${TAGS} where of_account = ${BANK} ${BY_SIZE} limit 10`,
  ],
  [
    'When did it say so?',
    story('Cedar Bridge Bank', ({ weeks }) => pick(weeks, 'week', 'feedback')),
    `${weekly('count(id)::int', `of_account = ${BANK}`)} limit 10`,
  ],
  ['And in which words?', story('Cedar Bridge Bank', ids), `select id from f where of_account = ${BANK} ${NEWEST} 10`],
  [
    'Which conversations are there?',
    async (call) => list(call, { of: 'conversations' }),
    `select id from conversation ${NEWEST} 10`,
  ],
  [
    'What was said in the latest?',
    async (call) => {
      const [{ id }] = (await call('list_feedback', { of: 'conversations', limit: 1 })).conversations
      return pick((await call('get_conversation', { id, limit: 20 })).messages, 'id', 'from', 'createdAt')
    },
    `select id, case when incoming then 'customer' else 'team' end, to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
     from message where conversation_id = (select id from conversation ${NEWEST} 1) order by created_at, id`,
  ],
]
