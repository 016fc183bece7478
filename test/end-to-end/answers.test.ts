import assert from 'node:assert/strict'
import process from 'node:process'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { readLedger } from '../support/ledgers.ts'
import type { Answer } from '../support/service.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const CONTACTS = Number(process.env['READ_YOUR_WRITES'] ?? (process.env['TEST_SIZE'] === 'long' ? 10_000 : 60))
const AT_ONCE = 16
const DRAINED_WITHIN_MS = 240_000 + CONTACTS * 60

/** An answered feedback, and the customer in its answer. `isUnknown`: its contact does not exist. */
type Given = { id: string; customer: string | undefined; isUnknown: boolean }

describe('the ids of an answer are valid for later requests', () => {
  let own: SharedService
  beforeEach(async () => {
    own = await sharedService()
  })
  afterEach(() => own.stop())

  const accepted = async (path: string, body: object): Promise<Answer> => {
    const answer = await own.post(path, body)
    assert.ok(answer.status === 200 || answer.status === 201, `${path}: ${answer.status} ${answer.text}`)
    return answer
  }

  /**
   * Identifies a contact and refers to it in every way. Every second contact is purged, and half of
   * the purged contacts return.
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

    const purged = await own.post('/contacts/purge', index % 4 === 0 ? { id } : { email }, { token: own.adminToken })
    assert.equal(purged.status, 200, purged.text)
    // The purge removes the ids of earlier answers.
    given.length = 0
    const again = await own.post('/contacts/purge', { id }, { token: own.adminToken })
    assert.equal(again.status, 404, 'the contact is already purged')
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

  /** Each customer of an answer resolves to the contact of the stored record. */
  const assertHolds = async (given: readonly Given[]): Promise<void> => {
    await until('no submission is queued', async () => (await readLedger(own)).queued === 0, DRAINED_WITHIN_MS)
    const rows = await own.sql<{ id: string; contact: string | null; means: string | null }[]>`
      select f.id, f.contact_id as contact, coalesce(a.contact_id, c.id) as means
      from unnest(${given.map(({ id }) => id)}::uuid[], ${given.map(({ customer }) => customer ?? null)}::uuid[])
        as t (id, customer)
      join feedback as f on f.workspace_id = ${own.workspaceId} and f.id = t.id
      left join contact_alias as a on a.workspace_id = f.workspace_id and a.id = t.customer
      left join contact as c on c.workspace_id = f.workspace_id and c.id = t.customer`
    assert.equal(rows.length, given.length)
    const stored = new Map(rows.map((row) => [row.id, row]))
    for (const { id, customer, isUnknown } of given) {
      const { contact, means } = stored.get(id)!
      assert.equal(contact === null, isUnknown, 'the record has the contact that it names')
      if (customer !== undefined)
        assert.equal(means, contact, 'the id of the answer resolves to the contact of the record')
    }
  }

  it(`while workers run, for ${CONTACTS} contacts`, async () => {
    await assertHolds(await visitAll())
  })
})
