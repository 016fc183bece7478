import { STEADY_PER_SECOND } from '../bench-config.ts'
import { emailOf } from '../bodies.ts'
import { finalState } from '../installation/finished.ts'
import type { Service } from '../installation/service.ts'
import {
  type CreateSection,
  feedbackTarget,
  loadOf,
  loadWith,
  newNumbers,
  type Rig,
  submit,
  untilAllFinished,
} from '../rig.ts'
import { storedService } from './size.ts'

const LONGEST_PURGE_SECONDS = 600

/** Purges a contact with much feedback in each round, while other contacts submit. */
export const purge: CreateSection = async (rig) => {
  const { config, measures, load } = rig
  const stored = await storedService(rig)
  const target = feedbackTarget(stored)
  // The contacts with much feedback have higher numbers than all other contacts.
  const victims = Array.from({ length: config.rounds }, (_, place) => config.storedContacts + place)
  for (const person of victims) await giveFeedback(rig, stored, person)
  return {
    round: async () => {
      const calm = await loadWith(rig, target, { perSecond: STEADY_PER_SECOND })
      measures.add('p99 at a steady rate without a purge', calm.p99Ms)
      await untilAllFinished(rig, stored)
      const loading = loadWith(rig, target, { perSecond: STEADY_PER_SECOND, seconds: LONGEST_PURGE_SECONDS })
      const seconds = await purgePerson(rig, stored, victims.pop()!).finally(load.cutShort)
      measures.add('purge of a contact', seconds)
      measures.add('p99 at a steady rate during a purge', (await loading).p99Ms)
      await untilAllFinished(rig, stored)
    },
  }
}

/** Submits the feedback of a contact that is purged or absorbed later. */
export const giveFeedback = async (rig: Rig, service: Service, person: number): Promise<void> => {
  const numbers = newNumbers(rig, rig.config.purgedFeedback)
  const how = loadOf(numbers, { kind: 'feedback of one person', people: person })
  await loadWith(rig, feedbackTarget(service), how)
  await untilAllFinished(rig, service)
}

/** Purges a contact and returns the seconds from the request until its receipt is final. */
export const purgePerson = async (rig: Rig, service: Service, person: number): Promise<number> => {
  const startedAt = performance.now()
  const id = await submit(rig, service, { path: '/contacts/purge', body: { email: emailOf(person) } })
  const state = await finalState(service, id)
  if (state !== 'applied') throw new Error(`The purge ended ${state}`)
  return (performance.now() - startedAt) / 1_000
}
