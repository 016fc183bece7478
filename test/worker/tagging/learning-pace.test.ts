import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  LEARNED_AT_ONCE,
  LEARNED_PER_SECOND,
  LEARNED_TOGETHER,
  createLearningPace,
  TIMES_AT_ONCE,
  TIMES_PER_SECOND,
} from '../../../worker/tagging/learning-pace.ts'

const texts = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

describe('the pace of learning from people', () => {
  it('takes all texts of a workspace up to a bound', () => {
    const { choose } = createLearningPace(() => 0)
    assert.deepEqual(choose('a', texts(500)), texts(500))
    assert.equal(choose('a', texts(LEARNED_AT_ONCE)).length, LEARNED_AT_ONCE - 500)
    assert.deepEqual(choose('a', texts(10)), [])
    assert.deepEqual(choose('b', texts(10)), texts(10), 'another workspace has its own pace')
  })

  it('takes a part of too many texts, spread over all of them', () => {
    const { choose } = createLearningPace(() => 0)
    const chosen = choose('a', texts(2 * LEARNED_AT_ONCE))
    assert.deepEqual(
      chosen,
      texts(LEARNED_AT_ONCE).map((at) => 2 * at),
    )
  })

  it('waits until it can accept several of many texts together', () => {
    let now = 0
    const { choose } = createLearningPace(() => now)
    choose('a', texts(LEARNED_AT_ONCE))
    const msForTogether = (LEARNED_TOGETHER / LEARNED_PER_SECOND) * 1_000
    now += msForTogether / 2
    assert.deepEqual(choose('a', texts(300)), [])
    now += msForTogether / 2
    assert.equal(choose('a', texts(300)).length, LEARNED_TOGETHER)
  })

  it('takes few texts after the bound, and many again after a pause', () => {
    let now = 0
    const { choose } = createLearningPace(() => now)
    choose('a', texts(LEARNED_AT_ONCE))
    now += 1_500
    assert.equal(choose('a', texts(15)).length, 1.5 * LEARNED_PER_SECOND)
    now += 3_600_000
    assert.equal(choose('a', texts(10_000)).length, LEARNED_AT_ONCE)
  })

  it('has a bound over all workspaces, and takes few texts after it', () => {
    let now = 0
    const { choose } = createLearningPace(() => now)
    const learned = (workspaces: number): number =>
      Array.from({ length: workspaces }, (_, at) => choose(`${now} ${at}`, texts(1))).filter(({ length }) => length > 0)
        .length
    assert.equal(learned(2 * TIMES_AT_ONCE), TIMES_AT_ONCE)
    now += 1_000
    assert.equal(learned(2 * TIMES_AT_ONCE), TIMES_PER_SECOND)
    now += 3_600_000
    assert.equal(learned(2 * TIMES_AT_ONCE), TIMES_AT_ONCE)
  })
})
