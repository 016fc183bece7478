import { ContactRegister, type KeyOfId, type WantedPurge } from '../contract/identity/contact-register.ts'
import type { NamedIds, Saying } from '../contract/identity/sayings.ts'
import type { Reference } from '../contract/identity/reference.ts'
import type { Meaning, Question } from '../contract/identity/meaning.ts'
import type { Sql } from '../db/postgres.ts'
import type { LookUpQueued, QueuedFacts, QueuedFactsByKey } from '../contract/identity/queued-facts.ts'
import { readStoredIdentity, type StoredIdentity } from '../db/identity/stored-identity.ts'

/** One answer goes through this many keys at most, and is given without the rest. */
const MOST_KEYS = 1_000
/** The number of a question that no submission asks: it is about everything. */
const LATEST = Number.MAX_SAFE_INTEGER

/** Where facts are: in Postgres, and in Redis. An alias tells the key of an own id that was answered before any row had it. */
export type Identity = {
  sql: Sql
  lookUpQueued: LookUpQueued
  findAlias: (workspaceId: string, ownId: string) => Promise<KeyOfId | null>
  keepAlias: (workspaceId: string, ownId: string, of: KeyOfId) => Promise<void>
}

/**
 * Whom references mean while facts or purges that decide it are still queued. A queued fact leaves the books only after it is
 * stored, and the books are read before Postgres, so no fact is missed.
 */
export const meaningWithQueued = async (identity: Identity, question: Question): Promise<Meaning> => {
  const { workspaceId, number, source, references } = question
  const { contact, project } = references
  const asked = { workspaceId, number, references: [contact, project], isWhole: question.purgesQueued }
  const around = await readNeighbourhood(identity, { ...asked, seen: question.queued })
  const register = registerOf(around, number)
  const ownContact = (id: string): string | null => ownContactIn(around, register, { id, number })
  const ownProject = (id: string): string | null =>
    around.stored.own.find((own) => own.id === id)?.project ?? queuedAs('project', around, { id, number })
  const meant = (reference: Reference | null, own: (id: string) => string | null): string | null => {
    for (const id of reference?.ids ?? []) {
      const found = reference!.own === true ? own(id) : register.external(id, source)
      if (found !== null) return found
    }
    if (reference?.weak === undefined) return null
    return reference.weakKind === 'contact_email' ? register.email(reference.weak) : reference.weak
  }
  const meaning = { contact: meant(contact, ownContact), project: meant(project, ownProject) }
  const alias = meaning.contact === null ? null : register.keyOfFresh(meaning.contact)
  if (alias !== null) await identity.keepAlias(workspaceId, meaning.contact!, alias)
  return meaning
}

type OwnId = { id: string; number: number }

const ownContactIn = (around: Neighbourhood, register: ContactRegister, { id, number }: OwnId): string | null => {
  if (around.known.has(id)) return register.own(id)
  return around.stored.own.find((own) => own.id === id)?.contact ?? queuedAs('record', around, { id, number })
}

const queuedAs = (of: 'record' | 'project', { queued }: Neighbourhood, { id, number }: OwnId): string | null => {
  const facts = queued.get(id)
  return facts?.of === of && facts.existsFrom! < number ? id : null
}

/** Whether a purge that is accepted now would concern anybody, stored or queued. */
export const matchesWithQueued = async (
  identity: Identity,
  workspaceId: string,
  wanted: WantedPurge,
): Promise<boolean> => {
  const group: Reference | null = wanted.group === null ? null : { ids: [wanted.group], own: false }
  const email: Reference | null = wanted.email === null ? null : { weak: wanted.email, weakKind: 'contact_email' }
  // A purge concerns whoever has the email, not only whom it means: nobody may be missed.
  const question = { workspaceId, number: LATEST, references: [group, email], isWhole: true }
  const around = await readNeighbourhood(identity, question)
  return registerOf(around, LATEST).matches(wanted)
}

/** Everything stored and queued about the keys that a question can depend on. `known` are the own ids among them. */
type Neighbourhood = { queued: QueuedFactsByKey; stored: StoredIdentity; known: ReadonlySet<string> }
type NeighbourhoodQuestion = {
  workspaceId: string
  number: number
  references: readonly (Reference | null)[]
  /**
   * Whether all that is said is told, as it has to be where a purge takes some of it away. Otherwise whom an email means follows from the
   * first claim and the last, however many there are.
   */
  isWhole: boolean
  /** What is known to be queued about some keys as of the number. */
  seen?: QueuedFactsByKey
}

/**
 * Goes from the keys of a question to the other keys of the same contacts until it finds no more: from a contact to the emails that
 * it has claimed, and from an email to the contacts that have claimed it.
 */
const readNeighbourhood = async (
  identity: Identity,
  { workspaceId, number, references, isWhole, seen = new Map() }: NeighbourhoodQuestion,
): Promise<Neighbourhood> => {
  const ownIds = new Set(references.flatMap((reference) => (reference?.own === true ? (reference.ids ?? []) : [])))
  const groups = new Set(references.flatMap((reference) => (reference?.own === false ? (reference.ids ?? []) : [])))
  const emails = new Set(references.flatMap((r) => (r?.weakKind === 'contact_email' ? [r.weak!] : [])))
  const queued = new Map(seen)
  const known = new Set<string>()
  const seenAsOwn = new Set<string>()
  const ownEmails = new Set<string>()
  const belongs = (id: string, { group, email }: { group: string | null; email: string | null }): void => {
    add(groups, group)
    add(emails, email)
    add(ownEmails, email)
    if (group !== null || email !== null) known.add(id)
  }
  for (;;) {
    const before = ownIds.size + groups.size + emails.size
    const unseen = [...ownIds, ...groups, ...emails].filter((key) => !queued.has(key))
    for (const [key, facts] of await identity.lookUpQueued(workspaceId, unseen, { isWhole })) queued.set(key, facts)
    // An email that was looked up before may turn out to be named by its own id as well.
    for (const id of [...ownIds].filter((one) => !seenAsOwn.has(one))) {
      seenAsOwn.add(id)
      const { of, said } = queued.get(id)!
      const alias = await identity.findAlias(workspaceId, id)
      if (alias !== null) belongs(id, alias)
      const isExternal = of !== null && of !== 'record' && of !== 'project'
      belongs(id, { group: isExternal ? of : null, email: said.length > 0 ? id : null })
    }
    const asked = { workspaceId, number, isWhole, groups: [...groups], emails: [...emails], ownIds: [...ownIds] }
    const stored = await readStoredIdentity(identity.sql, { ...asked, ...namedIn(queued) })
    for (const own of stored.own) belongs(own.id, own)
    for (const { email, groupId } of stored.claims) {
      add(groups, groupId)
      add(emails, email)
    }
    for (const [key, facts] of queued) {
      const found = keysBehind(facts, { number, isWhole, isOwn: ownEmails.has(key) })
      for (const id of found.groups) add(groups, id)
      for (const id of found.emails) add(emails, id)
      for (const id of found.ownIds) add(ownIds, id)
    }
    const found = ownIds.size + groups.size + emails.size
    if (found === before || found > MOST_KEYS) return { queued, stored, known }
  }
}

type Behind = { groups: (string | null)[]; emails: (string | null | undefined)[]; ownIds: string[] }

/** The keys on which an answer may depend through what is said about one. `isOwn`: it is an email that is asked for by its own id. */
const keysBehind = (
  { said }: QueuedFacts,
  { number, isWhole, isOwn }: { number: number; isWhole: boolean; isOwn: boolean },
): Behind => {
  const behind: Behind = { groups: [], emails: [], ownIds: [] }
  const claiming = said.filter((one) => one.number < number && one.sayings.some(({ kind }) => kind === 'claim'))
  const decide = new Set([claiming[0], claiming.at(-1)])
  for (const one of said) {
    for (const saying of one.sayings) {
      switch (saying.kind) {
        case 'named':
        case 'bare':
          if (isWhole) behind.emails.push(saying.email)
          break
        case 'claim':
          if (isWhole || decide.has(one)) behind.groups.push(saying.group)
          break
        case 'given':
        case 'remembered':
          // It counts only if these mean nobody, and only to whoever asks whether the key itself is anybody.
          if (isWhole || isOwn)
            behind[saying.unless?.own === true ? 'ownIds' : 'groups'].push(...(saying.unless?.ids ?? []))
          break
        case 'purge':
          behind.groups.push(saying.group)
          behind.emails.push(saying.email)
      }
    }
  }
  return behind
}

const add = (keys: Set<string>, key: string | null | undefined): void => {
  if (key != null) keys.add(key)
}

const sayingsIn = (queued: QueuedFactsByKey): Saying[] =>
  [...queued.values()].flatMap(({ said }) => said.flatMap(({ sayings }) => sayings))

/** The hashes of the external keys that queued submissions name, and the purges among the submissions. */
const namedIn = (queued: QueuedFactsByKey): { bases: string[]; purges: string[] } => {
  const sayings = sayingsIn(queued)
  return {
    bases: sayings.flatMap((saying) => (saying.kind === 'named' || saying.kind === 'bare' ? [saying.id] : [])),
    purges: sayings.flatMap((saying) => (saying.kind === 'purge' ? [saying.submissionId] : [])),
  }
}

type Fact = { number: number; tell: (register: ContactRegister) => void }

/** A register that was told everything accepted before `number`, in the order of acceptance. */
const registerOf = (around: Neighbourhood, number: number): ContactRegister => {
  const { stored } = around
  const register = new ContactRegister(new Map(Object.entries(stored.ended)))
  // A purge is decided only after everything accepted before it is stored. So what it left in the books is old.
  const storedUntil = Math.max(0, ...stored.decided)
  const facts = [...storedFacts(stored), ...queuedFacts(around).filter((fact) => fact.number > storedUntil)]
  for (const fact of facts.filter((one) => one.number < number).toSorted((a, b) => a.number - b.number)) {
    fact.tell(register)
  }
  return register
}

const storedFacts = ({ keys, emails, claims, remembered }: StoredIdentity): Fact[] => [
  ...keys.flatMap(({ base, kind, groupId: group, source, saidFrom, homeBase, email: said }): Fact[] => {
    if (saidFrom === null) return []
    const email = said === null ? undefined : { number: said[0], email: said[1] }
    const key = { base, group, source, from: saidFrom, email }
    if (kind !== 'contact_bare') return [{ number: saidFrom, tell: (register) => register.named(key) }]
    const bare = { homeBase: homeBase!, source, from: saidFrom, email }
    return [{ number: saidFrom, tell: (register) => register.bare(group, bare) }]
  }),
  ...emails.flatMap(({ base, givenFrom, orphanedFrom }): Fact[] => [
    ...(givenFrom === null ? [] : [{ number: givenFrom, tell: (register: ContactRegister) => register.given(base) }]),
    ...(orphanedFrom === null
      ? []
      : [{ number: orphanedFrom, tell: (register: ContactRegister) => register.orphaned(base) }]),
  ]),
  ...claims.map(({ email, groupId: group, ...claim }): Fact => ({
    number: claim.number,
    tell: (register) => register.claimed(email, { ...claim, group }),
  })),
  ...remembered.map((group): Fact => ({ number: 0, tell: (register) => register.remembered(group) })),
]

const queuedFacts = (around: Neighbourhood): Fact[] => [
  // A contact known by name only is told like a given email: it exists, and no later saying ends that.
  ...[...around.queued].flatMap(([key, { existsFrom, of }]): Fact[] =>
    of === 'record' && existsFrom !== null ? [{ number: existsFrom, tell: (register) => register.given(key) }] : [],
  ),
  ...onceEachPurge(
    [...around.queued].flatMap(([key, { said }]) =>
      said.flatMap(({ number, sayings }) =>
        sayings.map((saying, index): KeySaying => ({ key, number, saying, isLast: index === sayings.length - 1 })),
      ),
    ),
  ).map((told): Fact => ({ number: told.number, tell: (register) => tellSaying(register, around, told) })),
]

/** A purge by external id and email is said about both keys, and is told once. Told twice, it would find who had the email after it. */
const onceEachPurge = (sayings: readonly KeySaying[]): KeySaying[] => {
  const purges = new Set<string>()
  return sayings.filter(({ saying }) => {
    if (saying.kind !== 'purge') return true
    const isFirst = !purges.has(saying.submissionId)
    purges.add(saying.submissionId)
    return isFirst
  })
}

type KeySaying = { key: string; number: number; saying: Saying; isLast: boolean }

const tellSaying = (
  register: ContactRegister,
  around: Neighbourhood,
  { key, number, saying, isLast }: KeySaying,
): void => {
  const isSomebody = (named: NamedIds | null): boolean =>
    (named?.ids ?? []).some(
      (id) =>
        (named!.own ? ownContactIn(around, register, { id, number }) : register.external(id, named!.source)) !== null,
    )
  switch (saying.kind) {
    case 'named':
    case 'bare': {
      const email = saying.email === undefined ? undefined : { number, email: saying.email }
      if (saying.kind === 'bare')
        register.bare(key, { homeBase: saying.id, source: saying.source, from: number, email })
      else register.named({ base: saying.id, group: key, source: saying.source, from: number, email })
      return
    }
    case 'remembered':
      if (!isSomebody(saying.unless)) register.remembered(key)
      return
    case 'given':
      if (!isSomebody(saying.unless)) register.given(key)
      return
    case 'claim': {
      const { id: base, group, bare } = saying
      register.claimed(key, { number, base, group, bare, decides: isLast })
      return
    }
    case 'purge':
      register.purged(saying, number)
      return
  }
}
