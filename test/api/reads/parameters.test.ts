import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FEEDBACK_PARAMETERS, readQuery } from '../../../api/reads/parameters.ts'
import { isRefusal } from '../../../api/http/refusal.ts'

const MOST_PROBLEMS = 100

describe('the query of a read', () => {
  const problemsOf = (query: string, schemas = FEEDBACK_PARAMETERS): string[] => {
    const read = readQuery(new Request(`http://x/?${query}`), schemas)
    assert.ok(isRefusal(read) && read.refused === 'invalid')
    return read.problems.map(({ message }) => message)
  }

  it('with 3,300 unknown parameters has 100 problems, and no other parameter is looked at', () => {
    let looks = 0
    const counted = new Proxy(FEEDBACK_PARAMETERS, {
      getOwnPropertyDescriptor: (target, name) => {
        looks++
        return Reflect.getOwnPropertyDescriptor(target, name)
      },
    })
    const names = Object.keys(counted).length
    looks = 0
    const query = Array.from({ length: 3_300 }, (_, at) => `a${at}=1`).join('&')
    assert.equal(problemsOf(query, counted).length, MOST_PROBLEMS)
    // Counting the known names looks at each of them once.
    assert.ok(looks <= MOST_PROBLEMS + 2 * names, `${looks} looks`)
  })

  it('names a parameter that is repeated, and a tag that comes too often', () => {
    assert.deepEqual(problemsOf('limit=1&x=1&limit=2'), ['limit must be given once', 'x is not a known parameter'])
    assert.deepEqual(problemsOf('tag=a&'.repeat(101)), ['tag must be given at most 100 times'])
  })
})
