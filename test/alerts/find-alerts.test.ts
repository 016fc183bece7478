import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { findWeekChanges } from '../../alerts/digest.ts'
import { findAlerts } from '../../alerts/find-alerts.ts'
import { HISTORY_DAYS, type CountedDays, type KeyCount, type SourceCount } from '../../alerts/history.ts'
import { logTailOfBetaBinomial, logTailOfBinomial } from '../../alerts/rarity.ts'
import { simulateStream } from '../../alerts/simulate.ts'

/** By weekday; the last day of a history is a Thursday here. */
const WEEKDAYS = [30, 40, 40, 30, 8, 6, 30]
const days = (of: (weekday: number, day: number) => number): number[] =>
  Array.from({ length: HISTORY_DAYS }, (_, day) => of(day % WEEKDAYS.length, day))
const PEOPLE = days((weekday) => WEEKDAYS[weekday]!)
const NONE = days(() => 0)
const LAST_WEEK = HISTORY_DAYS - 7

const source = (more: Partial<SourceCount> = {}): SourceCount => ({
  source: 'App',
  people: PEOPLE,
  rated: PEOPLE,
  unhappy: days((weekday) => Math.floor(WEEKDAYS[weekday]! / 8)),
  ...more,
})
const theme = (key: string, people: number[], of = 'App'): KeyCount => ({ subject: 'theme', key, source: of, people })
const history = (more: Partial<CountedDays>): CountedDays => ({
  keys: [],
  keysOf: { theme: 20, kind: 5, tag: 100 },
  sources: [source()],
  accounts: [],
  ...more,
})
const find = (more: Partial<CountedDays>, told: Parameters<typeof findAlerts>[1] = []) =>
  findAlerts(history(more), told).map(({ subject, key, change }) => `${subject} ${key} ${change}`)

const tenth = days((weekday) => WEEKDAYS[weekday]! / 10)
const fresh = days((_, day) => (day >= HISTORY_DAYS - 2 ? 5 : 0))
const grown = days((weekday, day) => (WEEKDAYS[weekday]! / 10) * (day >= LAST_WEEK ? 3 : 1))

describe('alerts', () => {
  it('tell of new and grown themes, and not of the weekday or the volume', () => {
    assert.deepEqual(find({ keys: [theme('old', tenth)] }), [])
    assert.deepEqual(find({ keys: [theme('old', tenth), theme('fresh', fresh)] }), ['theme fresh new'])
    assert.deepEqual(find({ keys: [theme('old', grown)] }), ['theme old grown'])
    const busy = days((weekday, day) => WEEKDAYS[weekday]! * (day >= LAST_WEEK ? 5 : 1))
    const more = days((weekday, day) => (WEEKDAYS[weekday]! / 10) * (day >= LAST_WEEK ? 5 : 1))
    assert.deepEqual(find({ keys: [theme('old', more)], sources: [source({ people: busy, rated: NONE })] }), [])
  })

  it('are silent about a source that is new: its usual counts are not known', () => {
    const imported = days((_, day) => (day === HISTORY_DAYS - 1 ? 500 : 0))
    const shop = source({ source: 'Shop', people: imported, rated: NONE, unhappy: NONE })
    assert.deepEqual(find({ keys: [theme('of shop', imported, 'Shop')], sources: [source(), shop] }), [])
  })

  it('rest for a key that was told four weeks ago or later', () => {
    const told = (daysAgo: number) => [{ subject: 'theme' as const, key: 'fresh', daysAgo }]
    assert.deepEqual(find({ keys: [theme('fresh', fresh)] }, told(27)), [])
    assert.deepEqual(find({ keys: [theme('fresh', fresh)] }, told(29)), ['theme fresh new'])
  })

  it('tell at most three tags a day', () => {
    const tags = ['a', 'b', 'c', 'd'].map((key): KeyCount => ({ subject: 'tag', key, source: 'App', people: fresh }))
    assert.deepEqual(find({ keys: tags }), ['tag a new', 'tag b new', 'tag c new'])
    assert.deepEqual(find({ keys: tags }, [{ subject: 'tag', key: 'x', daysAgo: 0.5 }]), ['tag a new', 'tag b new'])
  })

  it('tell of a source whose satisfaction falls, and of an account that turns', () => {
    const falling = days((weekday, day) => Math.floor(WEEKDAYS[weekday]! / (day >= LAST_WEEK ? 2 : 8)))
    assert.deepEqual(find({ sources: [source({ unhappy: falling })] }), ['source App unhappy'])
    const rated = days((_, day) => (day % 3 === 0 || day >= LAST_WEEK ? 1 : 0))
    const turned = days((_, day) => (day >= LAST_WEEK ? 1 : 0))
    assert.deepEqual(find({ accounts: [{ account: 'Acme', rated, unhappy: turned }] }), ['account Acme unhappy'])
    assert.deepEqual(find({ accounts: [{ account: 'Sour', rated, unhappy: rated }] }), [])
  })

  it('do not depend on the order of the counts', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(['a', 'b', 'c', 'd', 'e'], { minLength: 5 }), (keys) => {
        const found = find({ keys: keys.map((key) => theme(key, fresh)) })
        assert.deepEqual(
          found.toSorted(),
          ['a', 'b', 'c', 'd', 'e'].map((key) => `theme ${key} new`),
        )
      }),
    )
  })

  it('are rare in quarters without an event, and find a new theme', () => {
    const stream = { textsOfDay: 100, bursts: 0, from: HISTORY_DAYS }
    const quiet = [1, 2, 3].flatMap((seed) => simulateStream({ ...stream, seed, events: [], to: HISTORY_DAYS + 30 }))
    assert.ok(quiet.length <= 3, JSON.stringify(quiet))
    const event = { kind: 'new theme', day: HISTORY_DAYS, share: 0.05 } as const
    const found = simulateStream({ ...stream, seed: 4, events: [event], to: HISTORY_DAYS + 14 })
    const first = found.find(({ subject, change }) => subject === 'theme' && change === 'new')!
    assert.ok(first.eventTexts <= 20, `told after ${first.eventTexts} texts`)
  })
})

describe('the greatest changes of a week', () => {
  it('are those of the last whole week, and none of the days since', () => {
    // Today is a Thursday.
    const weekday = 3
    const lastWeek = days((_, day) => (day < HISTORY_DAYS - 4 && day >= HISTORY_DAYS - 11 ? 4 : 1))
    const today = days((_, day) => (day === HISTORY_DAYS - 1 ? 100 : 1))
    const changes = findWeekChanges(history({ keys: [theme('week', lastWeek), theme('today', today)] }), weekday)
    assert.deepEqual(changes, [{ subject: 'theme', key: 'week', people: 28, before: 7 }])
  })
})

describe('the rarity of a number of people', () => {
  const binomial = (hits: number, tries: number, chance: number): number => {
    let [term, sum] = [(1 - chance) ** tries, 0]
    for (let hit = 0; hit <= tries; hit++) {
      if (hit >= hits) sum += term
      term *= (((tries - hit) / (hit + 1)) * chance) / (1 - chance)
    }
    return Math.log(sum)
  }

  it('is the tail of the binomial distribution, also of great numbers', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.nat(60),
        fc.double({ min: 0.01, max: 0.6, noNaN: true }),
        (tries, more, chance) => {
          const hits = Math.min(tries, Math.ceil(tries * chance) + (more % 20))
          if (hits <= tries * chance) return
          assert.ok(Math.abs(logTailOfBinomial(hits, tries, chance) - binomial(hits, tries, chance)) < 1e-3)
        },
      ),
    )
    const far = logTailOfBinomial(30_000, 100_000, 0.2)
    assert.ok(Number.isFinite(far) && far < -1_000)
  })

  it('is less sure with few earlier ratings, and nears the binomial one with many', () => {
    const few = logTailOfBetaBinomial(8, 10, { hits: 1, misses: 9 })
    const many = logTailOfBetaBinomial(8, 10, { hits: 1e5, misses: 9e5 })
    assert.ok(few > many)
    assert.ok(Math.abs(many - binomial(8, 10, 0.1)) < 0.01)
  })
})
