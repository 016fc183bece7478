import { canonicalDomain, canonicalEmail, canonicalName } from '../../contract/identity/keys.ts'
import type { Kind } from './kinds.ts'
import { type BodyMembers, memberAt } from './members.ts'

type SharedField = {
  readonly field: string
  readonly canonical: (given: string) => string | undefined
  /** What records with the same key come to share. */
  readonly effect: string
}

const ACCOUNT = 'the service links them to one account'

/** Weak keys that unite records of strangers if the file has a default value or a mailbox of a team in them. */
const FIELDS: Readonly<Record<Kind, readonly SharedField[]>> = {
  feedback: [
    {
      field: 'contact.email',
      canonical: canonicalEmail,
      effect: 'the service links them to one contact, and a purge of it removes them all',
    },
    { field: 'account.name', canonical: canonicalName, effect: ACCOUNT },
    { field: 'account.domain', canonical: canonicalDomain, effect: ACCOUNT },
  ],
  contacts: [
    {
      field: 'properties.$email',
      canonical: canonicalEmail,
      effect: 'later feedback with this email goes to the last',
    },
  ],
  accounts: [],
  conversations: [],
}

/** From these numbers on, many records share a key. */
const MIN_RECORDS = 10
const MIN_SHARE = 0.05
/** The most keys of one field in the plan. */
const MAX_NAMED = 5

type KeyCounts = {
  readonly count: (record: BodyMembers) => void
  /** One sentence for each key that many of the records share, the most frequent first. */
  readonly describe: (total: number) => string[]
}

export const createKeyCounts = (kind: Kind): KeyCounts => {
  const fields = FIELDS[kind].map((field) => ({ ...field, counts: new Map<string, number>() }))
  return {
    count: (record) => {
      for (const { field, canonical, counts } of fields) {
        const given = memberAt(record, field.split('.'))
        const key = typeof given === 'string' ? canonical(given) : undefined
        if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1)
      }
    },
    describe: (total) =>
      fields.flatMap(({ field, effect, counts }) =>
        [...counts]
          .filter(([, count]) => count >= Math.max(MIN_RECORDS, total * MIN_SHARE))
          .sort(([, one], [, other]) => other - one)
          .slice(0, MAX_NAMED)
          .map(([key, count]) => `${field} is ${key} in ${count} of ${total} records: ${effect}`),
      ),
  }
}
