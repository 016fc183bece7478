import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { IDEMPOTENCY_SECONDS } from '../../../contract/limits.ts'
import { setAside } from '../../../db/submissions/dead.ts'
import { findIdempotencyKeys } from '../../../db/submissions/idempotency-keys.ts'
import { readPosition } from '../../../db/submissions/position.ts'
import { createPurgeRig, type PurgeRig } from '../../support/purge-rig.ts'
import { hashKey, sharedSchema } from '../../support/schema.ts'

const schema = await sharedSchema()
const MICROSECONDS_PER_SECOND = 1_000_000
let lastNumber = Date.now() * 1_000

describe('idempotency keys in Postgres', () => {
  let ours: PurgeRig
  let theirs: PurgeRig
  beforeEach(async () => {
    ours = await createPurgeRig(schema.sql)
    theirs = await createPurgeRig(schema.sql)
  })

  const keyed = (key: string, number = ++lastNumber) => ({ idempotency: { key, body: `body of ${key}` }, number })
  const find = async ({ realm }: PurgeRig, key: string) =>
    (await findIdempotencyKeys(schema.sql, [{ workspaceId: realm.workspaceId, key }]))[0]

  it('are found with their submissions, in the order of the question', async () => {
    const [a, b] = [keyed('a'), keyed('b')]
    const ids = [await ours.feedback({}, a), await theirs.feedback({}, b)]
    const held = [
      { body: 'body of a', submissionId: ids[0], number: a.number },
      { body: 'body of b', submissionId: ids[1], number: b.number },
    ]
    const asked = [
      { workspaceId: theirs.realm.workspaceId, key: 'b' },
      { workspaceId: ours.realm.workspaceId, key: 'b' },
      { workspaceId: ours.realm.workspaceId, key: 'a' },
    ]
    assert.deepEqual(await findIdempotencyKeys(schema.sql, asked), [held[1], null, held[0]])
  })

  it('are free after a day, and then lead to the latest submission that has them', async () => {
    const day = IDEMPOTENCY_SECONDS * MICROSECONDS_PER_SECOND
    await ours.feedback({}, keyed('again', lastNumber - day - MICROSECONDS_PER_SECOND))
    assert.equal(await find(ours, 'again'), null)
    const id = await ours.feedback({}, keyed('again'))
    assert.equal((await find(ours, 'again'))?.submissionId, id)
  })

  it('are kept for purges and for dead submissions', async () => {
    const { workspaceId } = ours.realm
    const { purgeId } = await ours.decide({ id: 'unknown' }, keyed('purge'))
    assert.equal((await find(ours, 'purge'))?.submissionId, purgeId)
    const submission = ours.make('create_feedback', { description: 'x' }, keyed('dead'))
    const expected = (await readPosition(schema.sql, workspaceId))!
    await setAside(schema.sql, hashKey, { submission, attempts: 1, reason: 'x', expected })
    assert.equal((await find(ours, 'dead'))?.submissionId, submission.submissionId)
  })
})
