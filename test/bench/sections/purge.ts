import { setTimeout as pause } from 'node:timers/promises'
import { STEADY_PER_SECOND } from '../bench-config.ts'
import { emailOf } from '../bodies.ts'
import { untilDrained } from '../installation/drain.ts'
import type { Installation } from '../installation/installation.ts'
import { type CreateSection, feedbackTarget, loadWith } from '../rig.ts'

const LONGEST_PURGE_SECONDS = 600
const LOOK_EVERY_MS = 20

/** One contact with much feedback is purged in each round, while others go on submitting. */
export const purge: CreateSection = async (rig) => {
  const { config, measures, load } = rig
  const stored = await rig.installation('stored')
  const target = feedbackTarget(stored)
  // Those with much feedback are the last of all.
  let nextVictim = config.storedContacts
  return {
    round: async () => {
      await stored.queues.feedback.resume()
      const calm = await loadWith(rig, target, { perSecond: STEADY_PER_SECOND })
      measures.add('p99 at a steady rate without a purge', calm.p99Ms)
      await untilDrained(stored.queues.feedback)
      const during = loadWith(rig, target, { perSecond: STEADY_PER_SECOND, seconds: LONGEST_PURGE_SECONDS })
      const seconds = await purgeSeconds(stored, emailOf(--nextVictim)).finally(load.cutShort)
      measures.add('purge of a contact', seconds)
      measures.add('p99 at a steady rate during a purge', (await during).p99Ms)
      await untilDrained(stored.queues.feedback)
      await stored.queues.feedback.pause()
    },
  }
}

/** From the request until the receipt says that it is done. */
const purgeSeconds = async ({ url, token, sql }: Installation, email: string): Promise<number> => {
  const startedAt = performance.now()
  const answer = await fetch(`${url}/contacts/purge`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ email }),
  })
  const text = await answer.text()
  const id = answer.headers.get('Submission-Id')
  if (answer.status !== 200 || id === null) throw new Error(`The purge was answered ${answer.status}: ${text}`)
  for (;;) {
    const [row] = await sql<{ state: string }[]>`select state from submission where id = ${id} and state <> 'queued'`
    if (row !== undefined && row.state !== 'applied') throw new Error(`The purge ended ${row.state}`)
    if (row !== undefined) return (performance.now() - startedAt) / 1_000
    await pause(LOOK_EVERY_MS)
  }
}
