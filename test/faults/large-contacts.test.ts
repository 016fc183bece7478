import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { after, before, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { contactIdKey, contactSourceKey, emailKey, hashKeyFrom } from '../../contract/identity/keys.ts'
import { ownWorkspace } from '../support/own-workspace.ts'
import { type Service, startService } from '../support/service.ts'
import { describeWhere } from '../support/where.ts'
import { GUARD_MS } from '../support/until.ts'

const PEOPLE = process.env['TEST_SIZE'] === 'long' ? 3_000 : 1_500
/** The most keys that a contact can have: 60 kB of metadata. */
const KEYS = 1_000
const MOST_GROWN_BYTES = 300_000_000
const LOOK_EVERY_MS = 100

const MISSING = existsSync('/proc/self/status') ? undefined : 'there is no /proc'

const METADATA = Object.fromEntries(Array.from({ length: KEYS }, (_, at) => [`key${at}`, 'x'.repeat(48)]))
const emailOf = (at: number): string => `person-${at}@example.org`

type Case = {
  title: string
  /** Whether the people are known by an email, or by an external id. */
  isAnonymous: boolean
  /** The properties of a person in the conversation. */
  properties: (at: number) => object
  /** How the contacts are after the conversation. */
  isChanged: string
}

const CASES: readonly Case[] = [
  {
    title: 'becomes one with an identified contact',
    isAnonymous: true,
    properties: (at) => ({ $email: emailOf(at) }),
    isChanged: `properties ? 'key999' and email is not null`,
  },
  {
    title: 'has the most metadata keys, and gets another',
    isAnonymous: false,
    properties: () => ({ added: true }),
    isChanged: `properties ? 'added' and not properties ? 'key999'`,
  },
  {
    title: 'gets another value of a key',
    isAnonymous: false,
    properties: () => ({ key0: 'other' }),
    isChanged: `properties ->> 'key0' = 'other'`,
  },
]

/** Stores the people, as submissions of all of them would have. */
const storePeople = async ({ sql, environment }: Service, workspaceId: string, isAnonymous: boolean): Promise<void> => {
  const realm = { hashKey: hashKeyFrom(environment['HASH_KEY']!), workspaceId }
  const people = Array.from({ length: PEOPLE }, (_, at) => ({
    id: isAnonymous ? emailKey(realm, emailOf(at)) : contactSourceKey(realm, 'API', `p${at}`),
    key_id: contactIdKey(realm, `p${at}`),
    external_id: `p${at}`,
    email: emailOf(at),
  }))
  const rows = sql`
    jsonb_to_recordset(${sql.json(people)}) as r (id uuid, key_id uuid, external_id text, email text)`
  await sql`
    insert into contact (workspace_id, id, email, properties, first_number, number, change_position)
    select ${workspaceId}, r.id, case when ${isAnonymous} then r.email end, ${sql.json(METADATA)}, 1, 1, 1 from ${rows}`
  if (isAnonymous)
    await sql`
      insert into contact_email (workspace_id, email, contact_id, number, claimed)
      select ${workspaceId}, r.email, r.id, 1, false from ${rows}`
  else
    await sql`
      insert into contact_external_id (workspace_id, key_id, source, external_id, contact_id, number)
      select ${workspaceId}, r.key_id, 'API', r.external_id, r.id, 1 from ${rows}`
}

describeWhere(`a conversation of ${PEOPLE} people with 60 kB of metadata each`, MISSING, () => {
  let service: Service
  before(async () => {
    service = await startService()
  })
  after(() => service?.stop())

  for (const { title, isAnonymous, properties, isChanged } of CASES)
    it(`takes a bounded memory of a worker, while others are served, if each person ${title}`, async () => {
      const own = await ownWorkspace(service)
      await storePeople(service, own.workspaceId, isAnonymous)
      const isApplied = async () =>
        (await service.sql`select from submission where workspace_id = ${own.workspaceId} and state = 'applied'`)
          .count > 0
      const idleBytes = memoryOf(service)
      const startedAt = performance.now()
      const sent = await own.post('/conversations', {
        id: 'all',
        source: 'API',
        createdAt: '2026-01-01T00:00:00Z',
        contacts: Array.from({ length: PEOPLE }, (_, at) => ({ id: `p${at}`, properties: properties(at) })),
        messages: [],
      })
      assert.equal(sent.status, 200, sent.text)
      let [peakBytes, slowestMs] = [0, 0]
      while (!(await isApplied())) {
        const sentAt = performance.now()
        assert.ok(sentAt < startedAt + GUARD_MS)
        const body = { description: 'else', tags: [] }
        const answer = await service.post('/feedbacks', body, { headers: { Prefer: 'wait=30' } })
        assert.equal(answer.headers.get('Submission-State'), 'applied')
        slowestMs = Math.max(slowestMs, performance.now() - sentAt)
        peakBytes = Math.max(peakBytes, memoryOf(service))
        await pause(LOOK_EVERY_MS)
      }
      const seconds = (performance.now() - startedAt) / 1_000
      console.log(
        `${((peakBytes - idleBytes) / 1e6).toFixed(0)} MB more in ${seconds.toFixed(1)} s; others ${slowestMs.toFixed(0)} ms`,
      )
      const [row] = await service.sql<[{ count: number }]>`
        select count(*)::int as count from contact
        where workspace_id = ${own.workspaceId} and ${service.sql.unsafe(isChanged)}`
      assert.equal(row.count, PEOPLE)
      assert.ok(peakBytes - idleBytes <= MOST_GROWN_BYTES, `${peakBytes - idleBytes} bytes more`)
    })
})

const memoryOf = ({ workerPids }: Service): number =>
  1_024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${workerPids[0]}/status`, 'utf8'))![1])
