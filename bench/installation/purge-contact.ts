import { setTimeout as pause } from 'node:timers/promises'
import type { Service } from './service.ts'

const LOOK_EVERY_MS = 20

/** Purges a contact and returns the seconds from the request until its receipt is final. */
export const purgeContact = async (
  { url, token, sql }: Pick<Service, 'url' | 'token' | 'sql'>,
  email: string,
): Promise<number> => {
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
