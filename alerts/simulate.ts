import { type FoundAlert, findAlerts } from './find-alerts.ts'
import { DAYS_OF_WEEK, HISTORY_DAYS, type Told } from './history.ts'
import { createRandom } from './random.ts'
import { HOURS_OF_DAY, NEW_THEME, type SimulatedEvent, SimulatedWorkspace, TWENTIETH } from './simulated-workspace.ts'

const DAYS_OF_QUARTER = 91

/** An alert of a simulated quarter, with its day and how many texts its event had by then. */
export type SimulatedAlert = FoundAlert & { day: number; eventTexts: number }
/** `from` and `to`: the days on which the service looks, after each hour with texts. */
type Stream = {
  seed: number
  textsOfDay: number
  bursts: number
  events: readonly SimulatedEvent[]
  from: number
  to: number
}

export const simulateStream = ({ seed, from, to, ...options }: Stream): SimulatedAlert[] => {
  const workspace = new SimulatedWorkspace(createRandom(seed), { ...options, days: to })
  const alerts: SimulatedAlert[] = []
  for (let day = 0; day < to; day++) {
    workspace.startDay()
    for (let hour = 0; hour < HOURS_OF_DAY; hour++) {
      workspace.passHour(hour)
      if (day < from) continue
      const told = alerts.map(({ subject, key, day: on }): Told => ({ subject, key, daysAgo: day - on }))
      const found = findAlerts(workspace.history(), told)
      alerts.push(...found.map((alert) => ({ ...alert, day, eventTexts: workspace.eventTexts })))
    }
  }
  return alerts
}

/** `share`: of the quarters in which the event was told. `median`, `ninetieth`: of what it took until then. */
type EventFigures = { share: number; median: number; ninetieth: number }
export type SimulatedFigures = {
  falseAlarms: { perQuarter: number; bySubject: Record<string, number> }
  /** Texts of the theme until it was told, within four weeks. */
  newTheme: EventFigures
  /** Days until it was told, within a week. */
  doubledTheme: EventFigures
  fallingSource: EventFigures
}
export type SimulationOptions = { seed: number; quarters: number; textsOfDay: number; bursts: number }

const MONTH = 4 * DAYS_OF_WEEK
const EVENT_DAY = HISTORY_DAYS

type EachQuarter = <T>(run: (stream: Pick<Stream, 'seed' | 'textsOfDay' | 'bursts'>, at: number) => T) => T[]
type AwaitedEvent = { event: (day: number) => SimulatedEvent; key: string; within: number; by: 'days' | 'texts' }

export const simulate = ({ seed, quarters, ...options }: SimulationOptions): SimulatedFigures => {
  const each: EachQuarter = (run) =>
    Array.from({ length: quarters }, (_, at) => run({ ...options, seed: seed * 100_003 + at }, at))
  const told = (awaited: AwaitedEvent): EventFigures => summarize(awaitEvents(each, awaited))
  return {
    falseAlarms: countFalseAlarms(each, options.textsOfDay),
    newTheme: told({
      event: (day) => ({ kind: 'new theme', day, share: 0.05 }),
      key: NEW_THEME,
      within: MONTH,
      by: 'texts',
    }),
    doubledTheme: told({
      event: (day) => ({ kind: 'grown theme', day, theme: TWENTIETH, share: 0.1 }),
      key: TWENTIETH,
      within: DAYS_OF_WEEK,
      by: 'days',
    }),
    fallingSource: told({
      event: (day) => ({ kind: 'falling source', day, source: 'support', unhappy: 0.4 }),
      key: 'support',
      within: DAYS_OF_WEEK,
      by: 'days',
    }),
  }
}

/** In quarters without an event, but with an import of many texts. */
const countFalseAlarms = (each: EachQuarter, textsOfDay: number): SimulatedFigures['falseAlarms'] => {
  const quarters = each((stream, at) =>
    simulateStream({
      ...stream,
      events: [{ kind: 'import', day: EVENT_DAY + MONTH + (at % DAYS_OF_WEEK), texts: 10 * textsOfDay }],
      from: HISTORY_DAYS,
      to: HISTORY_DAYS + DAYS_OF_QUARTER,
    }),
  )
  const alarms = quarters.flat()
  const bySubject = [...Map.groupBy(alarms, ({ subject }) => subject)]
  return {
    perQuarter: alarms.length / quarters.length,
    bySubject: Object.fromEntries(bySubject.map(([subject, own]) => [subject, own.length / quarters.length])),
  }
}

/** What it took to tell the event of each quarter. The events begin on each weekday in turn. */
const awaitEvents = (each: EachQuarter, { event, key, within, by }: AwaitedEvent): (number | undefined)[] =>
  each((stream, at) => {
    const day = EVENT_DAY + (at % DAYS_OF_WEEK)
    const alerts = simulateStream({ ...stream, events: [event(day)], from: day, to: day + within })
    const alert = alerts.find((found) => found.key === key || found.key.startsWith(`${key}/`))
    return alert && (by === 'days' ? alert.day - day + 1 : alert.eventTexts)
  })

const summarize = (took: readonly (number | undefined)[]): EventFigures => {
  const found = took.filter((each) => each !== undefined).toSorted((a, b) => a - b)
  const at = (share: number): number =>
    found[Math.min(found.length - 1, Math.floor(share * found.length))] ?? Number.NaN
  return { share: found.length / took.length, median: at(0.5), ninetieth: at(0.9) }
}
