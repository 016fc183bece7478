import assert from 'node:assert/strict'
import type { QueuedFactsByKey } from '../../contract/identity/queued-facts.ts'
import type { Saying, Sayings } from '../../contract/identity/sayings.ts'
import type { Batched } from '../../queue/batch.ts'
import type { Settled } from '../../queue/settle.ts'

export type Said = Batched & { sayings: Sayings }

/** A batch that is not settled. A decided purge says nothing any more. */
export type Waiting = { batchId: string; isPurge: boolean; isDecided: boolean; said: readonly Said[] }

/**
 * The books of one workspace with each saying listed. `undecided` are the purges that were admitted and are not decided; one that was put
 * on the books again parts only what is said after that, so it is none of these.
 */
export type BooksModel = {
  waiting: Waiting[]
  settled: Said[]
  undecided: Set<number>
  /** Each number under which a saying about a key was ever said. */
  everSaid: Map<string, Set<number>>
}

export const emptyBooks = (): BooksModel => ({
  waiting: [],
  settled: [],
  undecided: new Set(),
  everSaid: new Map(),
})

export const take = (model: BooksModel, batch: Waiting): void => {
  model.waiting.push(batch)
  for (const { submission, sayings } of batch.said) {
    for (const about of sayings.aboutKeys) {
      const name = nameOf(about.keyId, about.sayings)
      model.everSaid.set(name, (model.everSaid.get(name) ?? new Set()).add(submission.number))
    }
  }
}

export const leave = (model: BooksModel, batch: Waiting): void => {
  model.waiting = model.waiting.filter((other) => other !== batch)
  model.settled.push(...batch.said)
  for (const { submission } of batch.said) model.undecided.delete(submission.number)
}

export const settledArguments = (workspaceId: string, { batchId, said }: Waiting): Settled => ({
  batch: {
    workspaceId,
    batchId,
    number: said[0]!.submission.number,
    queue: 'submissions',
    submissions: said,
  },
  sayings: said.map(({ sayings }) => sayings),
})

/**
 * What the books must tell about keys. Purges that are undecided part the numbers into stretches; a purge's own saying lies in the stretch
 * before it. Of each stretch in which a saying is outstanding, a number at or before the first outstanding one is told, and one at or
 * after the last: one that is settled may stand for it, as long as others of its stretch are outstanding. Of a stretch in which it is
 * not outstanding, nothing is told. An own id exists from an outstanding submission that makes it exist.
 */
export const assertTold = (model: BooksModel, keyIds: readonly string[], told: QueuedFactsByKey): void => {
  const outstanding = model.waiting.flatMap(({ said, isDecided }) => (isDecided ? [] : said))
  for (const keyId of keyIds) {
    const facts = told.get(keyId) ?? { existsFrom: null, of: null, said: [] }
    const numbersTold = numbersBySaying(keyId, facts.said)
    const numbersOut = numbersBySaying(
      keyId,
      outstanding.flatMap(({ submission, sayings }) =>
        sayings.aboutKeys.filter((about) => about.keyId === keyId).map((about) => ({ ...about, ...submission })),
      ),
    )
    for (const saying of new Set([...numbersTold.keys(), ...numbersOut.keys()])) {
      assertSaying(model, saying, { told: numbersTold.get(saying) ?? [], outstanding: numbersOut.get(saying) ?? [] })
    }
    if (facts.existsFrom !== null) {
      const maker = outstanding.find(({ submission }) => submission.number === facts.existsFrom)
      assert.ok(maker?.sayings.newIds.some(({ id, of }) => id === keyId && of === facts.of))
    }
  }
}

type Numbers = { told: readonly number[]; outstanding: readonly number[] }

const assertSaying = ({ undecided, everSaid }: BooksModel, saying: string, { told, outstanding }: Numbers): void => {
  const stretchOf = (number: number): number => [...undecided].filter((purge) => purge < number).length
  const [toldOf, outOf] = [Map.groupBy(told, stretchOf), Map.groupBy(outstanding, stretchOf)]
  const what = JSON.stringify({ saying, told, outstanding, undecided: [...undecided] })
  assert.deepEqual(new Set(toldOf.keys()), new Set(outOf.keys()), what)
  for (const [stretch, numbers] of outOf) {
    assert.ok(Math.min(...toldOf.get(stretch)!) <= Math.min(...numbers), what)
    assert.ok(Math.max(...toldOf.get(stretch)!) >= Math.max(...numbers), what)
  }
  assert.ok(
    told.every((number) => everSaid.get(saying)?.has(number)),
    what,
  )
  assert.deepEqual(
    told,
    [...new Set(told)].toSorted((a, b) => a - b),
    what,
  )
}

const nameOf = (keyId: string, sayings: readonly Saying[]): string => `${keyId} ${JSON.stringify(sayings)}`

const numbersBySaying = (
  keyId: string,
  said: readonly { number: number; sayings: readonly Saying[] }[],
): Map<string, number[]> => {
  const numbers = new Map<string, number[]>()
  for (const { number, sayings } of said) {
    const name = nameOf(keyId, sayings)
    numbers.set(name, [...(numbers.get(name) ?? []), number])
  }
  return numbers
}
