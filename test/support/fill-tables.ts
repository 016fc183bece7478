import { DEFAULT_WORKSPACE } from '../../db/workspaces/workspaces.ts'
import type { Sql } from '../../db/connection/postgres.ts'

const FEEDBACK_PER_CONTACT = 20
const CONTACTS_PER_ACCOUNT = 10
const FEEDBACK_PER_CONVERSATION = 10
const MESSAGES_PER_CONVERSATION = 5
const PROJECTS = 12
const TAGS = 400
const DAYS = 730

/**
 * The SQL of a realistic tag: few tags have most of the feedback. The same number `at` always has
 * the same tag.
 */
const tagOf = (at: string): string => `'topic ' || floor(${TAGS} * power(hashint4(${at}) / 4294967296.0 + 0.5, 3))::int`
/** The queries of docs/queries.md search for these. */
const [NAMED_TAG, NAMED_ACCOUNT, WORD] = ['picture', 'Cedar Bridge Bank', 'A picture']

/**
 * Fills the tables with this many feedback of the last two years, and with their contacts,
 * accounts, projects, conversations, messages, categories and receipts. It writes rows directly,
 * since the service would take too long.
 */
export const fillTables = async (sql: Sql, feedback: number): Promise<void> => {
  const [{ id: workspaceId }] = await sql<[{ id: string }]>`select id from workspace where name = ${DEFAULT_WORKSPACE}`
  const contacts = Math.ceil(feedback / FEEDBACK_PER_CONTACT)
  const accounts = Math.ceil(contacts / CONTACTS_PER_ACCOUNT)
  const conversations = Math.ceil(feedback / FEEDBACK_PER_CONVERSATION)
  const idOf = (kind: string, at: string): string => `md5('${kind}' || ${at})::uuid`
  const numberOf = (at: string, all: number): string =>
    `(extract(epoch from now() - interval '${DAYS} days' * (1 - ${at}::float8 / ${all})) * 1000000)::bigint`
  const ws = `'${workspaceId}'::uuid`
  const statements = [
    `insert into project (workspace_id, id, name, first_number, change_position)
     select ${ws}, ${idOf('project', 'n')}, 'Project ' || n, n, n from generate_series(0, ${PROJECTS - 1}) as n`,
    `insert into account (workspace_id, id, name, domain, contract_value, properties, first_number, number, change_position)
     select ${ws}, ${idOf('account', 'n')}, case n when 1 then '${NAMED_ACCOUNT}' else 'Company ' || n end,
       'company-' || n || '.example', 100 * (n % 997),
       jsonb_build_object('plan', (array['free', 'team', 'enterprise'])[1 + n % 3]), at.number, at.number, at.number
     from generate_series(0, ${accounts - 1}) as n, lateral (select ${numberOf('n', accounts)}) as at (number)`,
    `insert into contact (workspace_id, id, name, email, account_id, first_number, number, change_position)
     select ${ws}, ${idOf('contact', 'n')}, 'Person ' || n, 'person-' || n || '@company.example',
       ${idOf('account', `n % ${accounts}`)}, at.number, at.number, at.number
     from generate_series(0, ${contacts - 1}) as n, lateral (select ${numberOf('n', contacts)}) as at (number)`,
    `insert into feedback (workspace_id, id, description, title, tags, tags_generated, rating, source, source_id,
       contact_id, account_id, project_id, number, first_number, change_position)
     select ${ws}, ${idOf('feedback', 'n')},
       repeat('The export of report ' || n || ' hangs, and support does not answer. ', 6) || case when n % 101 = 0 then '${WORD}' else '' end,
       case when n % 89 = 0 then '${WORD}' else 'Report' end,
       array[${tagOf('n')}, ${tagOf('n + 1')} || 'b', case when n % 97 = 0 then '${NAMED_TAG}' else ${tagOf('n + 2')} || 'c' end], true,
       case when n % 4 <> 0 then 1 + abs(hashint4(n)) % 5 end, (array['app', 'mail', 'shop'])[1 + n % 3], n::text,
       ${idOf('contact', `n % ${contacts}`)}, case when n % 3 = 0 then ${idOf('account', `n % ${accounts}`)} end,
       ${idOf('project', `n % ${PROJECTS}`)}, at.number, at.number, at.number
     from generate_series(0, ${feedback - 1}) as n, lateral (select ${numberOf('n', feedback)}) as at (number)`,
    `insert into source (workspace_id, source, ratings, least_rating, most_rating)
     select ${ws}, source, count(rating), min(rating), max(rating) from feedback group by source`,
    `insert into feedback_category (workspace_id, id, title, uses, change_position)
     select ${ws}, md5(tag)::uuid, tag, count(*), max(number) from feedback, unnest(tags) as tag group by tag`,
    `insert into conversation (workspace_id, id, external_id, source, title, tags, properties, created_at, number, change_position)
     select ${ws}, ${idOf('conversation', 'n')}, n::text, 'chat', 'About ' || n, array[${tagOf('n')}, ${tagOf('n + 1')}], '{}',
       acceptance_time(number), number, number
     from generate_series(0, ${conversations - 1}) as n, lateral (select ${numberOf('n', conversations)}) as at (number)`,
    `insert into conversation_contact (workspace_id, conversation_id, contact_id)
     select ${ws}, ${idOf('conversation', 'n')}, ${idOf('contact', `n % ${contacts}`)} from generate_series(0, ${conversations - 1}) as n`,
    `insert into message (workspace_id, id, conversation_id, external_id, incoming, contact_id, content, raw_data, created_at, number, change_position)
     select ${ws}, ${idOf('message', `n || '/' || m`)}, ${idOf('conversation', 'n')}, m::text, m % 2 = 0,
       case when m % 2 = 0 then ${idOf('contact', `n % ${contacts}`)} end, repeat('It is slow. ', 10), '{}',
       acceptance_time(number) + m * interval '7 minutes', number, number
     from generate_series(0, ${conversations - 1}) as n, generate_series(0, ${MESSAGES_PER_CONVERSATION - 1}) as m,
       lateral (select ${numberOf('n', conversations)}) as at (number)`,
    `insert into submission (workspace_id, id, acceptance_number, operation, state, attempts, finished_at)
     select ${ws}, ${idOf('submission', 'n')}, number, 'create_feedback', 'applied', 1, acceptance_time(number) + interval '5 ms'
     from generate_series(0, ${feedback - 1}) as n, lateral (select ${numberOf('n', feedback)}) as at (number)`,
  ]
  for (const statement of statements) await sql.unsafe(statement)
}
