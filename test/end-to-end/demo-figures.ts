import {
  AGO,
  BY_SIZE,
  changed,
  compared,
  CUSTOMER,
  FIGURE_NAMES,
  groups,
  most,
  newest,
  NOW,
  type Question,
  RATED,
  spans,
  TAGS,
  TOP_ACCOUNT,
  TOP_PROJECT,
  TOP_TAG,
  total,
  weekly,
  words,
} from './demo-asking.ts'

/** Questions whose answers are figures. */
export const FIGURES: readonly Question[] = [
  ['How much feedback is there?', total({}, 'feedback'), 'select count(*)::int from f'],
  ['How content are customers?', total({}, ...FIGURE_NAMES), `select ${RATED} from f`],
  [
    'How much came in February?',
    total({ createdFrom: '2026-02-01', createdTo: '2026-02-28' }, 'feedback'),
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
    total({ q: 'battery' }, 'feedback'),
    `select count(*)::int from f where ${words('battery')}`,
  ],
  [
    'How content are customers who name battery life?',
    total({ q: 'Battery LIFE' }, 'feedback', ...FIGURE_NAMES),
    `select count(*)::int, ${RATED} from f where ${words('battery', 'life')}`,
  ],
  [
    'How much did the loudest account say?',
    async (call) => total({ accountId: await most(call, 'account') }, 'feedback', ...FIGURE_NAMES)(call),
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
    'How many topics are there, if feedback without a tag is a topic?',
    async (call) => {
      const { groupsInAll } = await call('count_feedback', { by: 'tag', limit: 10 })
      return [[groupsInAll]]
    },
    `select count(*)::int from (select tag from f left join unnest(tags) as t (tag) on true group by 1) as g`,
  ],
  [
    'What are the unhappy topics?',
    groups({ by: 'tag', ratingMax: 2, limit: 5 }, 'key', 'feedback', ...FIGURE_NAMES),
    `select tag, count(*)::int, ${RATED} ${TAGS} where rating <= 2 ${BY_SIZE} limit 5`,
  ],
  [
    'Which topics does the commonest product have?',
    async (call) => groups({ by: 'tag', projectId: await most(call, 'project'), limit: 8 }, 'key', 'feedback')(call),
    `select tag, count(*)::int ${TAGS} where project_id = ${TOP_PROJECT} ${BY_SIZE} limit 8`,
  ],
  [
    'Which topics come together with the commonest?',
    async (call) => groups({ by: 'tag', tag: [await most(call, 'tag')], limit: 4 }, 'key', 'feedback')(call),
    `select tag, count(*)::int ${TAGS} where ${TOP_TAG} = any (tags) ${BY_SIZE} limit 4`,
  ],

  ['How much comes each week?', groups({ by: 'week' }, 'key', 'feedback'), weekly('count(id)::int')],
  [
    'How does satisfaction develop?',
    groups({ by: 'week', limit: 12 }, 'key', ...FIGURE_NAMES),
    `${weekly(RATED)} limit 12`,
  ],
  [
    'In which weeks does the commonest topic come up?',
    async (call) => groups({ by: 'week', tag: [await most(call, 'tag')] }, 'key', 'feedback')(call),
    weekly('count(id)::int', `${TOP_TAG} = any (tags)`),
  ],

  [
    'Which accounts say most?',
    groups({ by: 'account', limit: 5 }, 'key', 'feedback'),
    `select of_account, count(*)::int from f ${BY_SIZE} limit 5`,
  ],
  [
    'Which accounts name the battery?',
    groups({ by: 'account', q: 'battery' }, 'key', 'feedback'),
    `select of_account, count(*)::int from f where ${words('battery')} ${BY_SIZE}`,
  ],
  [
    'Which account is least content?',
    groups({ by: 'account', order: 'satisfaction', limit: 1 }, 'key', ...FIGURE_NAMES),
    `select of_account, ${RATED} from f where of_account is not null group by 1 order by avg(satisfaction), 1 limit 1`,
  ],
  [
    'Which source has the greatest share of bad ratings?',
    groups({ by: 'source', order: 'bad', limit: 1 }, 'key', 'bad'),
    `select source, round(avg((satisfaction <= 0.4)::int), 4)::float8 as bad from f group by 1 order by 2 desc nulls last, 1 limit 1`,
  ],

  [
    'What do products get?',
    groups({ by: 'project' }, 'key', 'name', 'feedback', ...FIGURE_NAMES),
    `select f.project_id, p.name, count(*)::int, ${RATED} from f join project as p on p.id = f.project_id group by 1, 2 order by 3 desc, 1`,
  ],
  [
    'Which products are named with the battery?',
    groups({ by: 'project', q: 'battery' }, 'key', 'feedback'),
    `select project_id, count(*)::int from f where ${words('battery')} ${BY_SIZE}`,
  ],
  [
    'Where does feedback come from?',
    groups({ by: 'source' }, 'key', 'feedback', ...FIGURE_NAMES),
    `select source, count(*)::int, ${RATED} from f ${BY_SIZE}`,
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
    total({ createdFrom: '2026-03-24' }, 'feedback', ...FIGURE_NAMES),
    `select count(*)::int, ${RATED} from f where created_at >= '2026-03-24Z'`,
  ],
  [
    'Which topics are of this week?',
    groups({ by: 'tag', createdFrom: '2026-03-24', limit: 10 }, 'key', 'feedback'),
    `select tag, count(*)::int ${TAGS} where created_at >= '2026-03-24Z' ${BY_SIZE} limit 10`,
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
    'Is there more than in the week before?',
    async (call) => {
      const { before, after } = await call('compare_periods', { by: 'source', later: { from: AGO(7), to: NOW } })
      return [[before.feedback, after.feedback]]
    },
    `select sum(before)::int, sum(after)::int ${spans('source', 'from f', 7)}`,
  ],
]
