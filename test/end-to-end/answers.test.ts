import assert from 'node:assert/strict'
import process from 'node:process'
import { after, it } from 'node:test'
import { readLedger } from '../support/ledgers.ts'
import type { Answer } from '../support/service.ts'
import { sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const CONTACTS = Number(process.env['READ_YOUR_WRITES'] ?? (process.env['TEST_SIZE'] === 'long' ? 10_000 : 60))
const AT_ONCE = 16

/** An answered feedback, and the customer in its answer. `isUnknown`: its contact does not exist. */
type Given = { id: string; customer: string | undefined; isUnknown: boolean }

const service = await sharedService()
after(() => service.stop())

const accepted = async (path: string, body: object): Promise<Answer> => {
  const answer = await service.post(path, body)
  assert.ok(answer.status === 200 || answer.status === 201, `${path}: ${answer.status} ${answer.text}`)
  return answer
}

const purge = (body: object): Promise<Answer> => service.post('/contacts/purge', body, { token: service.adminToken })

/**
 * Identifies a contact, and names the contact in several ways. Every second contact is purged, and
 * half of the purged contacts are identified again.
 */
const visit = async (index: number): Promise<Given[]> => {
  const given: Given[] = []
  const name = async (body: object, isUnknown = false): Promise<string | undefined> => {
    const { feedback } = (await accepted('/feedbacks', { description: 'x', tags: [], ...body })).body
    given.push({ id: feedback.id, customer: feedback.customerId, isUnknown })
    return feedback.customerId as string | undefined
  }
  // An answer leaves out an id that it cannot determine in time.
  const nameUntilKnown = (body: object): Promise<string> => until('an answer has the contact', () => name(body))
  const [id, email] = [`contact-${index}`, `contact-${index}@example.com`]
  const identify = () => accepted('/contacts/identify', { id, properties: { $email: email } })
  const byId = { isExternalContactId: true, contactId: id }
  const anonymous = await nameUntilKnown({ contact: { email } })
  await identify()
  await name(byId)
  await name({ contact: { email: ` ${email.toUpperCase()} ` } })
  await name({ contactId: anonymous })
  await name({ contactId: crypto.randomUUID() }, true)
  if (index % 2 !== 0) return given

  const purged = await purge(index % 4 === 0 ? { id } : { email })
  assert.equal(purged.status, 200, purged.text)
  // The purge removes the feedback of the contact.
  given.length = 0
  assert.equal((await purge({ id })).status, 404, 'the contact is already purged')
  await name({ contactId: anonymous }, true)
  const fresh = await nameUntilKnown({ contact: { email } })
  assert.notEqual(fresh, anonymous, 'a purged id is never given again')
  if (index % 4 !== 0) return given

  await identify()
  await name(byId)
  await name({ contactId: fresh })
  return given
}

const visitAll = async (): Promise<Given[]> => {
  const given: Given[] = []
  let next = 0
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < CONTACTS) given.push(...(await visit(next++)))
    }),
  )
  return given
}

/** Asserts that each customer in an answer resolves to the contact of the stored record. */
const assertResolves = async (given: readonly Given[]): Promise<void> => {
  await until('no submission is queued', async () => (await readLedger(service)).queued === 0)
  const rows = await service.sql<{ id: string; contact: string | null; resolved: string | null }[]>`
    select f.id, f.contact_id as contact, coalesce(a.contact_id, c.id) as resolved
    from unnest(${given.map(({ id }) => id)}::uuid[], ${given.map(({ customer }) => customer ?? null)}::uuid[])
      as t (id, customer)
    join feedback as f on f.workspace_id = ${service.workspaceId} and f.id = t.id
    left join contact_alias as a on a.workspace_id = f.workspace_id and a.id = t.customer
    left join contact as c on c.workspace_id = f.workspace_id and c.id = t.customer`
  assert.equal(rows.length, given.length)
  const stored = new Map(rows.map((row) => [row.id, row]))
  for (const { id, customer, isUnknown } of given) {
    const { contact, resolved } = stored.get(id)!
    assert.equal(contact === null, isUnknown, 'the record has the contact that the feedback names')
    if (customer !== undefined)
      assert.equal(resolved, contact, 'the id of the answer resolves to the contact of the record')
  }
}

it(`the ids of an answer are valid for later requests while workers run: ${CONTACTS} contacts`, async () => {
  await assertResolves(await visitAll())
})
