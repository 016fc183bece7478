import { STEADY_PER_SECOND } from '../bench-config.ts'
import { emailOf } from '../bodies.ts'
import { halt, resume, untilDrained } from '../installation/drain.ts'
import { purgeContact } from '../installation/purge-contact.ts'
import { type CreateSection, feedbackTarget, loadWith } from '../rig.ts'

const LONGEST_PURGE_SECONDS = 600

/** One contact with much feedback is purged in each round, while others go on submitting. */
export const purge: CreateSection = async (rig) => {
  const { config, measures, load } = rig
  const stored = await rig.installation('stored')
  const target = feedbackTarget(stored)
  // Those with much feedback are the last of all.
  let nextVictim = config.storedContacts
  return {
    round: async () => {
      await resume(stored.drained('submissions').queues)
      const calm = await loadWith(rig, target, { perSecond: STEADY_PER_SECOND })
      measures.add('p99 at a steady rate without a purge', calm.p99Ms)
      await untilDrained(stored.drained('submissions'))
      const during = loadWith(rig, target, { perSecond: STEADY_PER_SECOND, seconds: LONGEST_PURGE_SECONDS })
      const seconds = await purgeContact(stored, emailOf(--nextVictim)).finally(load.cutShort)
      measures.add('purge of a contact', seconds)
      measures.add('p99 at a steady rate during a purge', (await during).p99Ms)
      await untilDrained(stored.drained('submissions'))
      await halt(stored.drained('submissions').queues)
    },
  }
}
