import {
  type AccountCount,
  HISTORY_DAYS,
  type CountedDays,
  type KeyCount,
  LEAST_PEOPLE,
  type SourceCount,
  sumOf,
} from './history.ts'
import { drawFrom, gaussian, type Random, zipf } from './random.ts'

/** From Monday to Sunday: what a day has of the texts of a mean day. */
const WEEKDAYS = [1.3, 1.25, 1.2, 1.15, 1, 0.6, 0.5]
/** Another source has its reviews at the weekend. */
const WEEKDAYS_OF_REVIEWS = [0.8, 0.8, 0.8, 0.9, 1.1, 1.3, 1.3]
/** Office hours have nearly all texts. */
export const HOURS_OF_DAY = 10
const [THEMES, TAGS_OF_THEME, ACCOUNTS, PEOPLE] = [40, 10, 150, 1_500]
const KINDS = ['problem', 'request', 'praise', 'question', 'other']
const WITH_CONTACT = 0.7
const RATED = 0.5
const UNHAPPY = 0.2
/** In an hour, at most so many texts of a source without a contact count as people. */
const MOST_WITHOUT_CONTACT = 3
/** A theme opens with its third text; in `meaning/` with its second to sixth. */
const OPENING_TEXTS = 3

/** What happens in a simulated quarter, from a day on. `share`: of all texts. */
export type SimulatedEvent =
  | { kind: 'new theme'; day: number; share: number }
  | { kind: 'grown theme'; day: number; theme: string; share: number }
  | { kind: 'import'; day: number; texts: number }
  | { kind: 'falling source'; day: number; source: string; unhappy: number }

export const NEW_THEME = 'theme new'
export const TWENTIETH = 'theme twentieth'
const SOURCES = [
  { name: 'support', part: 0.5, weekdays: WEEKDAYS },
  { name: 'survey', part: 0.3, weekdays: WEEKDAYS },
  { name: 'reviews', part: 0.2, weekdays: WEEKDAYS_OF_REVIEWS },
] as const

/** `bursts`: how much the logarithm of the share of a theme varies from week to week. */
export type WorkspaceOptions = { textsOfDay: number; days: number; bursts: number; events: readonly SimulatedEvent[] }

/** A stream of texts by the hour, and the counts that the service keeps of it. */
export class SimulatedWorkspace {
  readonly #counts = new Map<string, Float64Array>()
  readonly #seen = new Set<string>()
  #history: CountedDays | undefined
  readonly #shares: Map<string, Map<string, number>>
  #day = -1
  texts = 0
  eventTexts = 0
  #weekly = new Map<string, Map<string, number>>()

  readonly random: Random
  readonly options: WorkspaceOptions

  constructor(random: Random, options: WorkspaceOptions) {
    this.random = random
    this.options = options
    this.#shares = new Map(SOURCES.map(({ name }) => [name, this.#drawShares()]))
  }

  /** The themes of a source by Zipf, in an order of its own; `TWENTIETH` has 5 % in each. */
  #drawShares(): Map<string, number> {
    const order = Array.from({ length: THEMES - 1 }, (_, at) => ({ at, by: at + 6 * gaussian(this.random) }))
    const themes = order.toSorted((a, b) => a.by - b.by).map(({ at }) => `theme ${at}`)
    const parts = zipf(themes.length)
    return new Map([[TWENTIETH, 0.05], ...themes.map((theme, at) => [theme, 0.95 * parts[at]!] as const)])
  }

  startDay(): void {
    this.#day++
    this.#history = undefined
    this.#seen.clear()
    if (this.#day % 7 === 0) this.#startWeek()
  }

  #startWeek(): void {
    for (const [source, shares] of this.#shares) {
      const varied = [...shares].map(([theme, share]) => [
        theme,
        share * Math.exp(this.options.bursts * gaussian(this.random)),
      ])
      this.#weekly.set(source, new Map(varied as [string, number][]))
    }
  }

  /** Adds the texts of the next hour of the day. */
  passHour(hour: number): void {
    for (const source of SOURCES) {
      const mean = (this.options.textsOfDay * source.part * source.weekdays[this.#day % 7]!) / HOURS_OF_DAY
      this.#addTexts(source.name, this.random.poisson(mean), { hour, isImport: false })
    }
    for (const event of this.options.events)
      if (event.kind === 'import' && event.day === this.#day && hour === 0)
        this.#addTexts('survey', event.texts, { hour, isImport: true })
  }

  #addTexts(source: string, count: number, { hour, isImport }: { hour: number; isImport: boolean }): void {
    const themes = this.#themesOf(source)
    const drawn = Array.from({ length: count }, (_, at) => ({
      theme: isImport && at % 3 === 0 ? 'theme 30' : drawFrom(this.random, themes),
      // Some people write much more than others.
      person: isImport || this.random.next() > WITH_CONTACT ? undefined : Math.floor(PEOPLE * this.random.next() ** 2),
      at,
    }))
    const anonymous = drawn.filter(({ person }) => person === undefined).length
    const weight = Math.min(1, MOST_WITHOUT_CONTACT / Math.max(1, anonymous))
    for (const text of drawn) this.#add(source, { ...text, hour, weight: text.person === undefined ? weight : 1 })
  }

  #themesOf(source: string): ReadonlyMap<string, number> {
    const themes = new Map(this.#weekly.get(source))
    for (const event of this.options.events) {
      if (event.day > this.#day) continue
      if (event.kind === 'new theme') growTo(themes, NEW_THEME, event.share)
      if (event.kind === 'grown theme') growTo(themes, event.theme, event.share)
    }
    return themes
  }

  #add(source: string, text: { theme: string; person: number | undefined; hour: number; at: number; weight: number }) {
    const { theme, weight } = text
    this.texts++
    if (this.options.events.some((event) => ('theme' in event ? event.theme === theme : theme === NEW_THEME)))
      this.eventTexts++
    const person = text.person ?? `${source} ${text.hour} ${text.at}`
    const isOpen = theme !== NEW_THEME || this.eventTexts >= OPENING_TEXTS
    const kind = KINDS[Math.floor(this.random.next() ** 2 * KINDS.length)]!
    const first = Math.floor(this.random.next() ** 2 * TAGS_OF_THEME)
    const second = Math.floor(this.random.next() * TAGS_OF_THEME * THEMES)
    const count = (name: string): void => this.#count(name, person, weight)
    if (isOpen) count(`theme|${theme}|${source}`)
    count(`kind|${kind}|${source}`)
    count(`tag|${theme}/${first}|${source}`)
    count(`tag|other/${second}|${source}`)
    count(`people||${source}`)
    if (this.random.next() > RATED) return
    const isUnhappy = this.random.next() < this.#unhappyOf(source)
    const account = text.person === undefined ? undefined : text.person % ACCOUNTS
    for (const name of [`||${source}`, ...(account === undefined ? [] : [`|${account}|`])]) {
      count(`rated${name}`)
      if (isUnhappy) count(`unhappy${name}`)
    }
  }

  #unhappyOf(source: string): number {
    const fallen = this.options.events.find((event) => event.kind === 'falling source' && event.source === source)
    return fallen?.kind === 'falling source' && fallen.day <= this.#day ? fallen.unhappy : UNHAPPY
  }

  /** A person counts once a day for each name. */
  #count(name: string, person: number | string, weight: number): void {
    const seen = `${name}|${person}`
    if (this.#seen.has(seen)) return
    this.#seen.add(seen)
    let days = this.#counts.get(name)
    if (days === undefined) {
      this.#counts.set(name, (days = new Float64Array(this.options.days)))
      this.#history = undefined
    }
    days[this.#day]! += weight
  }

  /** The counts of the last days, today included. */
  history(): CountedDays {
    // Views of the counts, so they have later texts of the day, too.
    return (this.#history ??= this.#readHistory())
  }

  #readHistory(): CountedDays {
    const [start, end] = [this.#day + 1 - HISTORY_DAYS, this.#day + 1]
    const daysOf = (name: string): Float64Array => (this.#counts.get(name) ?? EMPTY).subarray(start, end)
    const keys: KeyCount[] = []
    const people = new Map<string, number>()
    const accounts: AccountCount[] = []
    for (const name of this.#counts.keys()) {
      const [subject, key, source] = name.split('|') as [string, string, string]
      if (subject === 'theme' || subject === 'kind' || subject === 'tag') {
        keys.push({ subject, key, source, people: daysOf(name) })
        const all = `${subject} ${key}`
        people.set(all, (people.get(all) ?? 0) + sumOf(daysOf(name), 0, HISTORY_DAYS))
      }
      if (subject === 'rated' && key !== '')
        accounts.push({ account: key, rated: daysOf(name), unhappy: unhappyDays(daysOf(`unhappy|${key}|`)) })
    }
    const sources = SOURCES.map(({ name }): SourceCount => ({
      source: name,
      people: daysOf(`people||${name}`),
      rated: daysOf(`rated||${name}`),
      unhappy: unhappyDays(daysOf(`unhappy||${name}`)),
    }))
    const able = [...people].filter(([, all]) => all >= LEAST_PEOPLE).map(([name]) => name.split(' ')[0]!)
    const keysOf = { theme: 0, kind: 0, tag: 0 }
    for (const subject of able) keysOf[subject as keyof typeof keysOf]++
    return { keys, keysOf, sources, accounts }
  }
}

const EMPTY = new Float64Array(0)
const NONE = new Float64Array(HISTORY_DAYS)
const unhappyDays = (days: Float64Array): Float64Array => (days.length === 0 ? NONE : days)
const growTo = (themes: Map<string, number>, theme: string, share: number): void => {
  themes.delete(theme)
  themes.set(theme, (share / (1 - share)) * sumOfValues(themes))
}
const sumOfValues = (of: ReadonlyMap<string, number>): number => [...of.values()].reduce((all, each) => all + each, 0)
