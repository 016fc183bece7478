import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { markReplayed, setAside } from '../../../db/submissions/dead.ts'
import { readPosition } from '../../../db/submissions/position.ts'
import { findReceipt } from '../../../db/submissions/receipts.ts'
import { createPurgeRig, type PurgeRig } from '../../support/purge-rig.ts'
import { hashKey, sharedSchema } from '../../support/schema.ts'

const schema = await sharedSchema()

describe('the replay of a dead submission', () => {
  let rig: PurgeRig
  let workspaceId: string
  beforeEach(async () => {
    rig = await createPurgeRig(schema.sql)
    workspaceId = rig.realm.workspaceId
  })

  const feedback = () =>
    rig.make('create_feedback', { description: 'slow', isExternalContactId: false, isExternalAccountId: false })

  it('is applied once, however often it is in the log', async () => {
    const submission = feedback()
    const { submissionId: id } = submission
    const expected = (await readPosition(schema.sql, workspaceId))!
    await setAside(schema.sql, hashKey, { submission, attempts: 3, reason: 'PostgresError 54000', expected })
    await markReplayed(schema.sql, workspaceId, id)
    const replay = () => ({ ...submission, number: feedback().number, originalNumber: submission.number })
    await rig.apply(replay())
    assert.equal((await findReceipt(schema.sql, workspaceId, id))?.state, 'applied')
    await rig.apply(replay())
    const [progress] = await schema.sql`
      select applied::int, dead::int from workspace_progress where workspace_id = ${workspaceId}`
    assert.deepEqual(progress, { applied: 1, dead: 0 })
  })

  it('changes what the replay of an earlier submission has written', async () => {
    const [first, second] = [feedback().number, feedback().number]
    for (const [originalNumber, text] of [
      [first, 'old'],
      [second, 'new'],
    ] as const) {
      const replay = { originalNumber }
      await rig.feedback({ source: 'Survey', sourceId: 'f', description: text }, replay)
      const account = { id: 'acme', properties: { $name: text, $domain: 'acme.example' } }
      await rig.identify({ id: 'ada', properties: { $name: text }, account }, replay)
      const messages = [{ id: 'm', contactId: 'ada', content: text }]
      await rig.conversation({ id: 'c', title: text, contacts: [{ id: 'ada' }], messages }, replay)
    }
    const rows = await schema.sql<{ text: string }[]>`
      select description as text from feedback where workspace_id = ${workspaceId} union all
      select name from contact where workspace_id = ${workspaceId} union all
      select name from account where workspace_id = ${workspaceId} union all
      select title from conversation where workspace_id = ${workspaceId} union all
      select content from message where workspace_id = ${workspaceId}`
    assert.deepEqual(
      rows.map(({ text }) => text),
      ['new', 'new', 'new', 'new', 'new'],
    )
  })

  it('replaces no value of a later submission, also after the replay of an older one', async () => {
    const [oldest, older, newest] = [feedback().number, feedback().number, feedback().number]
    await rig.identify({ id: 'ada', properties: { $name: 'new' } }, { originalNumber: newest })
    await rig.identify({ id: 'ada', properties: { plan: 'free' } }, { originalNumber: oldest })
    await rig.identify({ id: 'ada', properties: { $name: 'old' } }, { originalNumber: older })
    const rows = await schema.sql`select name, properties from contact where workspace_id = ${workspaceId}`
    assert.deepEqual([...rows], [{ name: 'new', properties: { plan: 'free' } }])
  })
})
