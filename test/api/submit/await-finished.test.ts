import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createAwaitFinished } from '../../../api/submit/await-finished.ts'
import type { SubmissionProgress } from '../../../db/submissions/receipts.ts'

const KIB = 1024

it('answers beyond the bound do not wait, and answers of other workspaces still do', async () => {
  const finish: ((progress: SubmissionProgress) => void)[] = []
  const awaitFinished = createAwaitFinished(() => new Promise((resolve) => finish.push(resolve)), 64 * KIB)
  const wait = (workspaceId: string, bytes: number) =>
    awaitFinished({ workspaceId, submissionIds: ['s'], bytes, ms: 60_000 })
  const waiting = wait('a', 31 * KIB)
  assert.deepEqual(await wait('a', 1), [undefined])
  assert.equal(finish.length, 1)
  const ofOther = wait('b', 16 * KIB)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(finish.length, 2)
  for (const resolve of finish) resolve({ id: 's', state: 'applied', isUnmatched: false })
  assert.deepEqual([await waiting, await ofOther], [['applied'], ['applied']])
  const later = wait('a', 1)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(finish.length, 3)
  finish[2]!({ id: 's', state: 'dead', isUnmatched: false })
  assert.deepEqual(await later, ['dead'])
})
