import type { BodyKind } from '../bodies.ts'
import { usageOf } from '../figures/usage.ts'
import { makeWorkspaces } from '../installation/make-workspaces.ts'
import { type CreateSection, loadWith, newNumbers } from '../rig.ts'

const MICROSECONDS_PER_SECOND = 1_000_000
/** When admission slows down with what waits, as much may never wait as is wanted. */
const MOST_FILLING_SECONDS = 120
/** More than are ever named. */
const MANY = 10_000_019

/**
 * What waits in a workspace of its own, and what comes then, where that is something else: both name so many people, in turn; `each`: as many
 * as wait, so that what comes is about somebody of whom just one waits.
 */
type Waiting = {
  readonly what: string
  readonly people: number | 'each'
  readonly waits: BodyKind
  readonly comes?: BodyKind
}

const ANOTHER_ID = 'feedback of an email and another id each'
const CLAIMED = { waits: 'contact of an email, another one each', comes: 'feedback' } as const
const SOURCES = { waits: 'contact of an id, from another source each', comes: 'feedback of an id' } as const

/** Those that are compared stand beside each other. */
const WAITING = [
  { what: 'one email', people: 1, waits: 'feedback' },
  { what: 'as many people', people: MANY, waits: 'feedback' },
  { what: '100 emails', people: 100, waits: 'feedback' },
  { what: 'one project', people: 1, waits: 'feedback of a project' },
  { what: 'as many projects', people: MANY, waits: 'feedback of a project' },
  { what: 'one contact', people: 1, waits: 'contact' },
  { what: 'as many contacts', people: MANY, waits: 'contact' },
  { what: 'one email of many ids', people: 1, waits: ANOTHER_ID },
  { what: 'as many emails of many ids', people: MANY, waits: ANOTHER_ID },
  { what: 'one email that all claim', people: 1, ...CLAIMED },
  { what: 'as many emails that are claimed', people: 'each', ...CLAIMED },
  { what: 'one id of many sources', people: 1, ...SOURCES },
  { what: 'as many ids of sources', people: 'each', ...SOURCES },
] as const satisfies readonly Waiting[]

/** Accepting what is about the same as all that waits, and what is about others, while no worker is there. */
export const alike: CreateSection = async (rig) => {
  const { config, measures, serverPids, takeNumbers, say } = rig
  const service = await rig.service('alike')
  await service.stopWorker()
  const tokens = await makeWorkspaces(service.sql, WAITING.length)
  const targetOf = (kind: BodyKind, place: number) => ({
    url: `${service.url}${pathOf(kind)}`,
    tokens: [tokens[place]!],
  })

  const countOf = (people: Waiting['people']): number => (people === 'each' ? config.alike : people)
  for (const [place, { what, people: named, waits }] of WAITING.entries()) {
    const people = countOf(named)
    const how = { kind: waits, people, numbers: newNumbers(takeNumbers, config.alike), seconds: MOST_FILLING_SECONDS }
    const { accepted } = await loadWith(rig, targetOf(waits, place), how)
    if (accepted < config.alike) say(`  only ${accepted} wait: ${what}`)
  }
  const measured = WAITING.map(({ what, people: named, waits, ...one }, place) => {
    const people = countOf(named)
    const kind = 'comes' in one ? one.comes : waits
    return { what, target: targetOf(kind, place), how: { kind, people } }
  })
  return {
    round: async () => {
      for (const { what, target, how } of measured) {
        const before = usageOf(serverPids).Redis.cpuSeconds
        const { accepted, seconds } = await loadWith(rig, target, how)
        const redisSeconds = usageOf(serverPids).Redis.cpuSeconds - before
        measures.add(`accepted, ${what} waiting`, accepted / seconds)
        measures.add(`Redis per admission, ${what} waiting`, (redisSeconds * MICROSECONDS_PER_SECOND) / accepted)
      }
      measured.reverse()
    },
  }
}

const pathOf = (kind: BodyKind): string => (kind.startsWith('contact') ? '/contacts/identify' : '/feedbacks')
