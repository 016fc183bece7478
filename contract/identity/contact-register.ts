import { idAfterPurge } from './own-id.ts'
import { DEFAULT_SOURCE } from '../stored-feedback.ts'

/** An external id in one source. `base` is the hash of the key, `id` the own id that it has now. */
type ExternalKey = { id: string; base: string; group: string; source: string; from: number; email: EmailFact }
/** An external id that was identified without a source. It belongs to the oldest key of the id, or starts the key `homeBase`. */
type BareId = { homeBase: string; source: string; from: number; email: EmailFact }
/** The email of a contact, and the number of the identify that gave it. */
type EmailFact = { number: number; email: string | null } | undefined
/** Of several claims in one submission only the last decides whom the email means. The others tell who has the email as well. */
type Claim = { number: number; base: string; group: string; bare: boolean; decides: boolean }
type Email = { given: boolean; orphaned: boolean; claims: Claim[] }

/** The key that an own id belongs to: an external id (its group), or an email. */
export type KeyOfId = { group: string; email: null } | { group: null; email: string }

/** What a purge asks for: its keys, and the source that limits the search. */
export type WantedPurge = { group: string | null; email: string | null; source: string | null }

/**
 * The rules of who is meant, for what is queued. The register holds the contacts that a question can concern, as one careful clerk
 * would keep them: it is told facts in the order of their acceptance numbers, and answers by what it was told so far. For what is
 * stored, db/functions/resolve.sql has the same rules, and test/api/meaning-with-queued.test.ts holds the two together.
 */
export class ContactRegister {
  readonly #keys = new Map<string, ExternalKey>()
  readonly #bare = new Map<string, BareId>()
  readonly #emails = new Map<string, Email>()
  readonly #remembered = new Set<string>()
  readonly #decided: ReadonlyMap<string, number>
  readonly #ended: Map<string, number>

  /** `ended`: of each key that a decided purge ended, the number of the last such purge. */
  constructor(ended: ReadonlyMap<string, number>) {
    this.#decided = ended
    this.#ended = new Map(ended)
  }

  /** The own id that a key has now. */
  idOf(base: string): string {
    const number = this.#ended.get(base)
    return number === undefined ? base : idAfterPurge(base, number)
  }

  named({ email, ...key }: Omit<ExternalKey, 'id'>): void {
    const held = this.#keys.get(key.base) ?? { ...key, id: this.idOf(key.base), email: undefined }
    this.#keys.set(key.base, { ...held, from: Math.min(held.from, key.from), email: latest(held.email, email) })
    this.#remembered.delete(key.group)
  }

  bare(group: string, said: BareId): void {
    const held = this.#bare.get(group) ?? { ...said, email: undefined }
    this.#bare.set(group, { ...held, email: latest(held.email, said.email) })
    this.#remembered.delete(group)
  }

  given(email: string): void {
    this.#email(email).given = true
  }

  claimed(email: string, claim: Claim): void {
    const { claims } = this.#email(email)
    claims.push(claim)
    claims.sort((a, b) => a.number - b.number)
  }

  /** From now on the email's own id means nobody, even if others have claimed the email. */
  orphaned(email: string): void {
    this.#email(email).orphaned = true
  }

  remembered(group: string): void {
    if (this.keysOf(group).length === 0) this.#remembered.add(group)
  }

  #email(email: string): Email {
    const held = this.#emails.get(email) ?? { given: false, orphaned: false, claims: [] }
    this.#emails.set(email, held)
    return held
  }

  /** The external keys of a group, oldest first. */
  keysOf(group: string): ExternalKey[] {
    const named = [...this.#keys.values()].filter((key) => key.group === group)
    const bare = this.#bare.get(group)
    const oldest = Math.min(...named.map(({ from }) => from))
    const keys =
      bare && bare.from < oldest
        ? [
            ...named.filter(({ base }) => base !== bare.homeBase),
            {
              ...(named.find(({ base }) => base === bare.homeBase) ?? {
                id: this.idOf(bare.homeBase),
                base: bare.homeBase,
                group,
                source: bare.source,
                email: undefined,
              }),
              from: bare.from,
            },
          ]
        : named
    return keys.toSorted((a, b) => a.from - b.from || (a.source < b.source ? -1 : a.source > b.source ? 1 : 0))
  }

  /** The contact that an external id means: the one in the asker's own source, else the oldest. */
  external(group: string, ownSource: string): string | null {
    const keys = this.keysOf(group)
    return (keys.find(({ source }) => source === ownSource) ?? keys[0])?.id ?? null
  }

  /** The contact that an email means: the last one that claimed it, else the contact that the email itself stands for. */
  email(email: string): string {
    const claim = deciding(this.#emails.get(email)).at(-1)
    return claim ? this.#claimant(claim) : this.idOf(email)
  }

  #claimant({ bare, group, base }: Claim): string {
    return bare ? (this.keysOf(group)[0]?.id ?? this.idOf(base)) : this.idOf(base)
  }

  /** The contact that an own id means, if the register knows it. The first contact that claimed an email absorbed the email's own. */
  own(id: string): string | null {
    for (const [email, held] of this.#emails) {
      if (this.idOf(email) !== id) continue
      const { given, orphaned } = held
      const [first] = deciding(held)
      if (orphaned) return null
      return first ? this.#claimant(first) : given ? id : null
    }
    const groups = new Set([...[...this.#keys.values()].map(({ group }) => group), ...this.#bare.keys()])
    return [...groups].some((group) => this.keysOf(group).some((key) => key.id === id)) ? id : null
  }

  /** The key of an own id with which a purge told here made the key start afresh. Null for any other id: Postgres knows its key. */
  keyOfFresh(id: string): KeyOfId | null {
    for (const [base, number] of this.#ended) {
      if (idAfterPurge(base, number) !== id || this.#decided.get(base) === number) continue
      const group = this.#keys.get(base)?.group ?? this.#groupOfHome(base)
      return group === undefined ? { group: null, email: base } : { group, email: null }
    }
    return null
  }

  #groupOfHome(base: string): string | undefined {
    return [...this.#bare].find(([, { homeBase }]) => homeBase === base)?.[0]
  }

  /** Whether a purge would concern anybody now. */
  matches(wanted: WantedPurge): boolean {
    return (wanted.group !== null && this.#remembered.has(wanted.group)) || this.#matching(wanted).size > 0
  }

  /** Removes the contacts that match. Their keys start afresh after `number`. */
  purged(wanted: WantedPurge, number: number): void {
    const gone = this.#matching(wanted)
    const isGone = (claim: Claim): boolean => gone.has(this.#claimant(claim))
    const left = [...this.#emails].map(([email, held]): [string, Email, boolean] => {
      const [first] = deciding(held)
      const isSomebody = held.given || first !== undefined
      const orphaned = held.orphaned || (first !== undefined && isGone(first))
      const isOwnGone = first === undefined ? gone.has(this.idOf(email)) : orphaned
      const claims = held.claims.filter((claim) => !isGone(claim))
      return [email, { given: held.given && !isOwnGone, orphaned, claims }, isSomebody]
    })
    this.#removeKeys(gone, number)
    for (const [email, held, wasSomebody] of left) {
      const isEnded = wasSomebody && !held.given && deciding(held).length === 0
      this.#emails.set(email, isEnded ? { ...held, orphaned: false } : held)
      if (isEnded) this.#ended.set(email, number)
    }
    if (wanted.group !== null) this.#remembered.delete(wanted.group)
  }

  #removeKeys(gone: ReadonlySet<string>, number: number): void {
    const groups = new Set([...[...this.#keys.values()].map(({ group }) => group), ...this.#bare.keys()])
    for (const group of groups) {
      const keys = this.keysOf(group)
      if (keys[0] && gone.has(keys[0].id)) this.#bare.delete(group)
      for (const { base, id } of keys) {
        if (!gone.has(id)) continue
        this.#keys.delete(base)
        this.#ended.set(base, number)
      }
    }
  }

  #matching({ group, email, source }: WantedPurge): Set<string> {
    const found = new Set<string>()
    for (const key of group === null ? [] : this.keysOf(group)) {
      if (source === null || key.source === source) found.add(key.id)
    }
    const held = email === null ? undefined : this.#emails.get(email)
    if (email === null || !held) return found
    const isClaimed = deciding(held).length > 0
    const meant = isClaimed ? this.email(email) : undefined
    for (const { group: claimants } of held.claims) {
      for (const [index, key] of this.keysOf(claimants).entries()) {
        const has = latest(key.email, index === 0 ? this.#bare.get(claimants)?.email : undefined)
        if (key.id !== meant && has?.email !== email) continue
        if (source === null || key.source === source) found.add(key.id)
      }
    }
    const isAnonymous = !isClaimed && held.given
    if (isAnonymous && (source === null || source === DEFAULT_SOURCE)) found.add(this.email(email))
    return found
  }
}

const deciding = (email: Email | undefined): Claim[] => email?.claims.filter(({ decides }) => decides) ?? []

const latest = (a: EmailFact, b: EmailFact): EmailFact => (a && (!b || a.number > b.number) ? a : b)
