import { STEADY_PER_SECOND } from '../bench-config.ts'
import { emailOf } from '../bodies.ts'
import { purgeContact } from '../installation/purge-contact.ts'
import { type CreateSection, feedbackTarget, loadOf, loadWith, newNumbers, untilAllFinished } from '../rig.ts'
import { storedService } from './size.ts'

const LONGEST_PURGE_SECONDS = 600

/** Purges a contact with much feedback in each round, while other contacts submit. */
export const purge: CreateSection = async (rig) => {
  const { config, measures, load, takeNumbers } = rig
  const stored = await storedService(rig)
  const target = feedbackTarget(stored)
  // The contacts with much feedback come after all others.
  const victims = Array.from({ length: config.rounds }, (_, place) => config.storedContacts + place)
  for (const people of victims) {
    const numbers = newNumbers(takeNumbers, config.purgedFeedback)
    await loadWith(rig, target, loadOf(numbers, { kind: 'feedback of one person', people }))
  }
  await untilAllFinished(rig, stored)
  return {
    round: async () => {
      const calm = await loadWith(rig, target, { perSecond: STEADY_PER_SECOND })
      measures.add('p99 at a steady rate without a purge', calm.p99Ms)
      await untilAllFinished(rig, stored)
      const loading = loadWith(rig, target, { perSecond: STEADY_PER_SECOND, seconds: LONGEST_PURGE_SECONDS })
      const seconds = await purgeContact(stored, emailOf(victims.pop()!)).finally(load.cutShort)
      measures.add('purge of a contact', seconds)
      measures.add('p99 at a steady rate during a purge', (await loading).p99Ms)
      await untilAllFinished(rig, stored)
    },
  }
}
