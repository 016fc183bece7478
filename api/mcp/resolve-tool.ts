import * as v from 'valibot'
import { accountIdKey, canonicalDomain, canonicalEmail, contactIdKey } from '../../contract/identity/keys.ts'
import { identifier } from '../../contract/query-fields.ts'
import type { LookUpKeys } from '../../db/reads/lists.ts'
import type { NamedThing } from '../../db/reads/names.ts'
import { isRefusal, type Refusal } from '../http/refusal.ts'
import { withPermit } from '../reads/reads.ts'
import { definedMembers, label, personal } from './answers.ts'
import { type AgentRead, findRecords } from './agent-read.ts'
import type { Sight } from './quote.ts'
import { defineTool, invalid } from './tool.ts'

const MOST_MATCHES = 20

export const resolve = defineTool({
  name: 'resolve',
  title: 'Find ids and exact names',
  description:
    'Finds what filters need: the id of an account, project, theme or customer, or the exact writing of a tag or source. Give one key. `name` ' +
    'finds all kinds by a part of the name, the most similar first. Customers have an id only, unless the token shows personal data.',
  input: v.strictObject({
    name: v.optional(identifier('A name, or a part of it.')),
    domain: v.optional(identifier('The domain of an account.')),
    email: v.optional(identifier('The email of a customer.')),
    externalId: v.optional(identifier('The id of a customer or account in another system.')),
    source: v.optional(identifier('With externalId: that system.')),
  }),
  run: async (asked, given) => {
    const { name, domain, email, externalId, source } = given
    if ([name, domain, email, externalId].filter((key) => key !== undefined).length !== 1) return ONE_KEY
    const found =
      name === undefined ? await findByKey(asked, { domain, email, externalId, source }) : await findByName(asked, name)
    if (isRefusal(found)) return found
    const hints = found.length === 0 ? [NO_MATCH] : undefined
    return { answer: { hints, matches: found }, records: found.length }
  },
})

const ONE_KEY = invalid(['give one of name, domain, email and externalId; source goes with externalId'])
const NO_MATCH =
  'Nothing has this key. Try a part of the name, or count_feedback by account, customer, project, theme, tag or source.'

type Match = { kind: string; id?: string; name?: string; domain?: string; contractValue?: number }

/** Accounts that the text means come first, then all names that contain the text. */
const findByName = async (asked: AgentRead, name: string): Promise<Match[] | Refusal> => {
  const { workspaceId, agentReads, sight } = asked
  const found = await withPermit(
    asked,
    async () => {
      const meant = await agentReads.findAccount(workspaceId, name)
      const names = await agentReads.findNames(workspaceId, { name, ofPeople: sight.readsPersonal })
      return { meant, names }
    },
    'countPermits',
  )
  if (isRefusal(found)) return found
  const { meant, names } = found
  const account = meant === undefined || names.some(({ id }) => id === meant) ? [] : [{ kind: 'account', id: meant }]
  const first = names.filter(({ id }) => id !== null && id === meant)
  return [
    ...account,
    ...[...first, ...names.filter((each) => !first.includes(each))].map((each) => matchOf(each, sight)),
  ]
}

const matchOf = ({ kind, id, name, domain, contractValue }: NamedThing, sight: Sight): Match =>
  definedMembers({
    kind,
    id,
    name: label(name, sight),
    domain: domain === null ? null : label(domain, sight),
    contractValue,
  }) as Match

type Keys = { [Key in 'domain' | 'email' | 'externalId' | 'source']: string | undefined }

const findByKey = async (asked: AgentRead, { domain, email, externalId, source }: Keys): Promise<Match[] | Refusal> => {
  const realm = { hashKey: asked.dependencies.hashKey, workspaceId: asked.workspaceId }
  const wanted: [kind: 'account' | 'customer', keys: LookUpKeys][] = []
  const canonical = { domain: canonicalDomain(domain ?? ''), email: canonicalEmail(email ?? '') }
  if (canonical.domain !== undefined) wanted.push(['account', { domain: canonical.domain }])
  if (canonical.email !== undefined) wanted.push(['customer', { email: canonical.email }])
  if (externalId !== undefined) {
    wanted.push(['account', { externalKey: accountIdKey(realm, externalId), source }])
    wanted.push(['customer', { externalKey: contactIdKey(realm, externalId), source }])
  }
  const matches: Match[] = []
  for (const [kind, filters] of wanted) {
    const list = { kind, limit: MOST_MATCHES, isOldestFirst: true, filters } as const
    const shownAs = (record: unknown, sight: Sight) => recordMatch(kind, record as MatchingRecord, sight)
    const page = await findRecords(asked, list, { from: undefined, shownAs })
    if (isRefusal(page)) return page
    matches.push(...page.records)
  }
  return matches
}

type MatchingRecord = { id: string; name?: string; email?: string; domain?: string; contractValue?: number }

/** People stay hidden from a token without `read:personal`. */
const recordMatch = (kind: 'account' | 'customer', record: MatchingRecord, sight: Sight): Match => {
  const { id, name, email, domain, contractValue } = record
  if (kind === 'customer')
    return definedMembers({ kind, id, name: personal(name, sight), email: personal(email, sight) }) as Match
  return definedMembers({
    kind,
    id,
    name: name && label(name, sight),
    domain: domain && label(domain, sight),
    contractValue,
  }) as Match
}
