import { type Dimension, type Dimensions, partsOf, THEME_SHOWN, themeJoins } from './dimensions.ts'
import { conversationCondition, type FeedbackFilters, SATISFACTION } from './filters.ts'

/** What conversations are counted by, where the key is not that of a feedback. */
const KEYS: Readonly<Partial<Record<Dimension, { key: string; from: string }>>> = {
  tag: { key: 't.tag', from: 'left join unnest(r.tags) as t (tag) on true' },
  customer: { key: 'o.contact_id', from: '' },
  account: {
    key: 'c.account_id',
    from: 'left join contact as c on c.workspace_id = o.workspace_id and c.id = o.contact_id',
  },
  project: { key: 'null::uuid', from: '' },
  theme: { key: 'h.id', from: themeJoins('r.theme_id') },
}
const CUSTOMERS = 'left join conversation_contact as o on o.workspace_id = r.workspace_id and o.conversation_id = r.id'

/**
 * The conversations to count, as `rowsToCount` has feedback. A conversation counts once for each of
 * its tags, customers and accounts. It has no declared fields.
 */
export const conversationsToCount = ({ by, filters }: { by: Dimensions; filters: FeedbackFilters }): string => {
  const isByPeople = by.some((name) => name === 'customer' || name === 'account')
  const from = [isByPeople ? CUSTOMERS : '', ...by.map((name) => KEYS[name]?.from ?? '')].join(' ')
  const keys = by.map((name, at) => `${KEYS[name]?.key ?? partsOf(name).key} as k${at + 1}`)
  return `
    select d.*, row_number() over (partition by d.id) = 1 as is_first
    from (
      select distinct r.id, ${keys.join()}, ${SATISFACTION} as satisfaction
      from conversation as r ${from}
      left join source as s on s.workspace_id = r.workspace_id and s.source = r.source
      where r.workspace_id = $1::uuid and ($2::jsonb is not null) and (${conversationCondition(filters)})
        ${by.includes('theme') ? `and ${THEME_SHOWN}` : ''}
    ) as d`
}
