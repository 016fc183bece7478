import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { parsePurgedKey, type PurgedKey, raisePurgedKeys, readPurgedKeys } from '../../../db/purges/purge-replay.ts'
import { createPurgeRig, type PurgeRig } from '../../support/purge-rig.ts'
import { sharedSchema } from '../../support/schema.ts'

const schema = await sharedSchema()
const BACKED_UP = [
  'contact',
  'contact_external_id',
  'contact_email',
  'contact_alias',
  'feedback',
  'conversation',
  'conversation_contact',
  'message',
  'unresolved',
]

describe('purges that a restored database lacks', () => {
  let rig: PurgeRig
  let workspaceId: string
  beforeEach(async () => {
    rig = await createPurgeRig(schema.sql)
    workspaceId = rig.realm.workspaceId
  })

  const count = async (table: string): Promise<number> =>
    (await schema.sql`select from ${schema.sql(table)} where workspace_id = ${workspaceId}`).count
  const exported = async (): Promise<PurgedKey[]> => {
    const lines: string[] = []
    for await (const key of readPurgedKeys(schema.sql)) lines.push(JSON.stringify(key))
    return lines.map(parsePurgedKey).filter((key) => key.workspaceId === workspaceId)
  }
  /** Does the work, then restores the former rows. Returns the keys that were purged meanwhile. */
  const restoreAfter = async (work: () => Promise<unknown>): Promise<PurgedKey[]> => {
    const kept = new Map<string, string>()
    for (const table of BACKED_UP) {
      const [{ rows }] = await schema.sql<[{ rows: string }]>`
        select coalesce(jsonb_agg(t), '[]')::text as rows from ${schema.sql(table)} as t where workspace_id = ${workspaceId}`
      kept.set(table, rows)
    }
    await work()
    const keys = await exported()
    await schema.sql`delete from purged_key where workspace_id = ${workspaceId}`
    for (const [table, rows] of kept) {
      const columns = await schema.sql<{ names: string }[]>`
        select string_agg(quote_ident(column_name), ', ') as names from information_schema.columns
        where table_schema = current_schema() and table_name = ${table} and is_generated = 'NEVER'`
      await schema.sql`delete from ${schema.sql(table)} where workspace_id = ${workspaceId}`
      await schema.sql.unsafe(
        `insert into ${table} (${columns[0]!.names}) select ${columns[0]!.names} from jsonb_populate_recordset(null::${table}, $1::text::jsonb)`,
        [rows],
      )
    }
    return keys
  }

  it('are repeated: the contacts and their records are removed, and their keys have the former epochs', async () => {
    await rig.identify({ id: 'ada', source: 'CRM', properties: { $email: 'ada@example.com' } })
    await rig.feedback({ contact: { email: 'ada@example.com' } })
    await rig.feedback({ contact: { email: 'bob@example.com' } })
    await rig.conversation({ id: 'c', contacts: [{ id: 'ada' }], messages: [{ id: '1', contactId: 'ada' }] })
    const keys = await restoreAfter(() => rig.purge({ id: 'ada' }))
    assert.equal(await count('feedback'), 2)
    assert.equal(await raisePurgedKeys(schema.sql, keys), 1)
    assert.deepEqual(
      [await count('contact'), await count('feedback'), await count('conversation'), await count('message')],
      [1, 1, 0, 0],
    )
    assert.deepEqual(await exported(), keys)
    assert.equal(await count('purge'), 0)
    assert.equal(await raisePurgedKeys(schema.sql, keys), 0, 'the second replay changes nothing')
  })

  it('reach a contact that was known only by its email at the time of the backup', async () => {
    await rig.feedback({ contact: { email: 'ada@example.com' } })
    const keys = await restoreAfter(async () => {
      await rig.identify({ id: 'ada', properties: { $email: 'ada@example.com' } })
      await rig.purge({ id: 'ada' })
    })
    assert.equal(await raisePurgedKeys(schema.sql, keys), 1)
    assert.deepEqual([await count('contact'), await count('feedback')], [0, 0])
  })

  it('reach records that waited for a purged external id', async () => {
    await rig.feedback({ contactId: 'ada', isExternalContactId: true })
    const keys = await restoreAfter(() => rig.purge({ id: 'ada' }))
    await raisePurgedKeys(schema.sql, keys)
    assert.deepEqual([await count('feedback'), await count('unresolved')], [0, 0])
  })

  it('reach records that waited at the time of the backup for contacts that came and were purged later', async () => {
    for (const id of ['ada', 'bob']) await rig.feedback({ contactId: id, isExternalContactId: true })
    const messages = [
      { id: 'of ada', contactId: 'ada' },
      { id: 'of bob', contactId: 'bob' },
    ]
    await rig.conversation({ id: 'c', contacts: [], messages })
    const keys = await restoreAfter(async () => {
      for (const id of ['ada', 'bob']) await rig.identify({ id, properties: { $email: 'shared@example.com' } })
      await rig.purge({ email: 'shared@example.com' })
    })
    assert.equal(await raisePurgedKeys(schema.sql, keys), 0)
    const left = [await count('feedback'), await count('message'), await count('conversation')]
    assert.deepEqual([...left, await count('unresolved'), await count('purge')], [0, 0, 0, 0, 0])
  })

  it('are repeated for a key that was purged twice', async () => {
    await rig.identify({ id: 'ada' })
    const keys = await restoreAfter(async () => {
      await rig.purge({ id: 'ada' })
      await rig.identify({ id: 'ada' })
      await rig.purge({ id: 'ada' })
    })
    assert.deepEqual(
      keys.map(({ epoch }) => epoch),
      [2, 2],
    )
    assert.equal(await raisePurgedKeys(schema.sql, keys), 1)
    assert.equal(await count('contact'), 0)
  })

  it('remove no later submissions', async () => {
    await rig.identify({ id: 'ada', properties: { $email: 'ada@example.com' } })
    await rig.feedback({ contact: { email: 'ada@example.com' } })
    await rig.conversation({ id: 'c', contacts: [{ id: 'ada' }], messages: [{ id: 'old', contactId: 'ada' }] })
    const keys = await restoreAfter(() => rig.purge({ id: 'ada' }))
    const since = await rig.feedback({ contact: { email: 'ada@example.com' } })
    await rig.conversation({ id: 'c', contacts: [{ id: 'ada' }], messages: [{ id: 'new', contactId: 'ada' }] })
    await rig.identify({ id: 'new', properties: { $email: 'new@example.com' } })
    assert.equal(await raisePurgedKeys(schema.sql, keys), 1)
    const feedback =
      await schema.sql`select id, contact_id as contact from feedback where workspace_id = ${workspaceId}`
    assert.deepEqual([...feedback], [{ id: since, contact: null }])
    const messages = await schema.sql`
      select external_id as id, contact_id as contact from message where workspace_id = ${workspaceId}`
    assert.deepEqual([...messages], [{ id: 'new', contact: null }])
    assert.equal(await count('contact'), 1)
  })

  it('are refused if a line is not a purged key', () => {
    assert.throws(() => parsePurgedKey('{"workspaceId": 1}'))
  })
})
