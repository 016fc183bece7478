import { feedbackBody, referencesOfPerson } from '../bodies.ts'
import { drainFor, untilDrained } from '../installation/drain.ts'
import { fillQueue, type Filling } from '../installation/fill-queue.ts'
import { fillTables } from '../installation/fill-tables.ts'
import type { Installation } from '../installation/installation.ts'
import type { Measure } from '../figures/measures.ts'
import {
  type CreateSection,
  drainBounds,
  feedbackFilling,
  feedbackTarget,
  LONGEST_LOAD_SECONDS,
  loadWith,
  type Rig,
  warmUp,
} from '../rig.ts'

/** One in so many of those who submit again was purged. */
const PEOPLE_PER_PURGE = 10

/** What has grown over the years: the feedback of one contact, and the purges of one workspace. Each beside an empty installation. */
export const grown: CreateSection = async (rig) => {
  const { config, measures } = rig
  const fresh = await rig.installation('main')
  const full = await rig.installation('grown')
  const contacts = config.storedContacts
  const people = PEOPLE_PER_PURGE * config.purges
  await fillTables(full, {
    feedback: config.alike + contacts,
    contacts,
    heavy: { contacts: 1, feedback: config.alike },
  })
  const purged = await rig.installation('purged')
  await purgeMany(rig, purged)

  const drain = async (installation: Installation, filling: Filling, measure: Measure): Promise<void> => {
    await fillQueue(installation, 'create_feedback', filling)
    const { perSecond } = await drainFor(installation.drained('submissions'), drainBounds(config))
    measures.add(measure, perSecond)
    await installation.emptyQueues()
  }
  const ofLastContact = (): Filling => ({
    ...feedbackFilling(rig, config.drained),
    bodyOf: (index) => ({ ...feedbackBody(index, { people: contacts }), ...referencesOfPerson(contacts - 1) }),
  })
  const ofEverybody = (): Filling => ({
    ...feedbackFilling(rig, config.drained),
    bodyOf: (index) => feedbackBody(index, { people }),
  })
  const accept = async (installation: Installation, measure: Measure): Promise<void> => {
    const { accepted, seconds } = await loadWith(rig, feedbackTarget(installation), { people, idempotencyKeys: true })
    measures.add(measure, accepted / seconds)
    await installation.emptyQueues()
  }
  await warmUp(rig, [fresh, purged].map(feedbackTarget))
  return {
    round: async () => {
      await fresh.empty()
      await purged.emptyQueues()
      await drain(fresh, ofLastContact(), 'feedback of one contact drained')
      await drain(full, ofLastContact(), 'feedback of one contact with much drained')
      await fresh.empty()
      await drain(fresh, ofEverybody(), 'feedback drained without purges')
      await drain(purged, ofEverybody(), 'feedback drained after many purges')
      await accept(fresh, 'accepted without purges')
      await accept(purged, 'accepted after many purges')
      await fresh.empty()
    },
  }
}

/** Each of somebody who has one feedback. */
const purgeMany = async (rig: Rig, installation: Installation): Promise<void> => {
  const { config } = rig
  const stock = { feedback: config.purges, contacts: config.purges, heavy: { contacts: 0, feedback: 0 } }
  await fillTables(installation, stock)
  const { accepted } = await loadWith(
    rig,
    { url: `${installation.url}/contacts/purge`, tokens: [installation.token] },
    { kind: 'purge', numbers: { from: 0, most: config.purges }, seconds: LONGEST_LOAD_SECONDS },
  )
  if (accepted !== config.purges) throw new Error(`${accepted} of ${config.purges} purges were accepted`)
  await untilDrained(installation.drained('purges'))
}
