import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createAwaitProgress } from '../../../api/submit/await-progress.ts'
import type { SubmissionProgress } from '../../../db/submissions/receipts.ts'
import type { SubmissionState } from '../../../contract/receipt.ts'
import { until } from '../../support/until.ts'

const SUBMISSION = { workspaceId: 'w', id: 's' }
const LONG_MS = 60_000

/** Receipts and a clock that the test controls. */
const setUp = () => {
  const receipts = new Map<string, SubmissionProgress>()
  const asked: string[][] = []
  const hurried: string[] = []
  const stop = new AbortController()
  let now = 0
  const awaitProgress = createAwaitProgress(
    async (submissions) => {
      asked.push(submissions.map(({ id }) => id))
      return submissions.flatMap(({ id }) => receipts.get(id) ?? [])
    },
    { now: () => now, stop: stop.signal, hurry: (workspaceId) => void hurried.push(workspaceId) },
  )
  return {
    awaitProgress,
    asked,
    hurried,
    stop,
    write: (state: SubmissionState) => receipts.set('s', { id: 's', state, isUnmatched: false }),
    advance: (ms: number) => {
      now += ms
    },
  }
}

describe('waiting for a submission', () => {
  it('answers all requests that wait for the same submission', async () => {
    const { awaitProgress, write, asked } = setUp()
    const waiting = [1, 2, 3].map(() => awaitProgress(SUBMISSION, { until: 'finished', ms: LONG_MS }))
    write('applied')
    const found = await Promise.all(waiting)
    assert.deepEqual(
      found.map((progress) => progress?.state),
      ['applied', 'applied', 'applied'],
    )
    assert.ok(asked.every((ids) => ids.length === 1))
  })

  it('counts the receipt of a decided purge as decided, not as finished', async () => {
    const { awaitProgress, write, advance } = setUp()
    write('queued')
    const decided = await awaitProgress(SUBMISSION, { until: 'decided', ms: LONG_MS })
    assert.equal(decided?.state, 'queued')
    const finished = awaitProgress(SUBMISSION, { until: 'finished', ms: LONG_MS })
    advance(LONG_MS)
    assert.equal(await finished, undefined)
  })

  it('looks once even if there is no time to wait', async () => {
    const { awaitProgress, write } = setUp()
    assert.equal(await awaitProgress(SUBMISSION, { until: 'finished', ms: 0 }), undefined)
    write('dead')
    assert.equal((await awaitProgress(SUBMISSION, { until: 'finished', ms: 0 }))?.state, 'dead')
  })

  it('ends when the process ends, for waiting and for later requests', async () => {
    const { awaitProgress, stop } = setUp()
    const waiting = awaitProgress(SUBMISSION, { until: 'finished', ms: LONG_MS })
    stop.abort()
    assert.equal(await waiting, undefined)
    assert.equal(await awaitProgress(SUBMISSION, { until: 'finished', ms: LONG_MS }), undefined)
  })

  it('wakes a worker once if the submission is still not there after a while', async () => {
    const { awaitProgress, write, asked, hurried } = setUp()
    const waiting = awaitProgress(SUBMISSION, { until: 'finished', ms: LONG_MS })
    await until('it has looked again', async () => asked.length > 3)
    assert.deepEqual(hurried, [SUBMISSION.workspaceId])
    write('applied')
    await waiting
  })

  it('continues after a failed look-up', async () => {
    let looks = 0
    const awaitProgress = createAwaitProgress(
      async () => {
        if (looks++ === 0) throw new Error('Postgres is away')
        return [{ id: 's', state: 'applied', isUnmatched: false }]
      },
      { now: () => 0, stop: new AbortController().signal, hurry: () => {} },
    )
    assert.equal((await awaitProgress(SUBMISSION, { until: 'finished', ms: LONG_MS }))?.state, 'applied')
  })

  it('asks for few of many waiting submissions, and answers them all once their log moves', async () => {
    const WAITING = 20_000
    const finished = new Set<string>()
    let most = 0
    const awaitProgress = createAwaitProgress(
      async (submissions) => {
        most = Math.max(most, submissions.length)
        return submissions.flatMap(({ id }) =>
          finished.has(id) ? [{ id, state: 'applied' as const, isUnmatched: false }] : [],
        )
      },
      { now: () => 0, stop: new AbortController().signal, hurry: () => {} },
    )
    const wait = (workspaceId: string, id: string) =>
      awaitProgress({ workspaceId, id }, { until: 'finished', ms: LONG_MS })
    const ids = Array.from({ length: WAITING }, (_, at) => `s${at}`)
    const waiting = ids.map((id) => wait('w', id))
    finished.add('repeated').add('other')
    // A submission that finished long ago, and one of another workspace, do not wait for the first ones.
    assert.equal((await wait('w', 'repeated'))?.state, 'applied')
    assert.equal((await wait('v', 'other'))?.state, 'applied')
    for (const id of ids) finished.add(id)
    const answered = await Promise.all(waiting)
    assert.ok(answered.every((progress) => progress?.state === 'applied'))
    assert.ok(most <= 2_200, `${most} in one query`)
  })
})
