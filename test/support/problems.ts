import assert from 'node:assert/strict'
import type { Problem } from '../../contract/problem.ts'
import type { Answer } from './service.ts'

/** The problems of a 400; any other answer fails the test. */
const problemsOf = ({ status, text, body }: Answer): Problem[] => {
  assert.equal(status, 400, text)
  assert.deepEqual(Object.keys(body), ['error'])
  assert.ok(Array.isArray(body.error) && body.error.length > 0, text)
  for (const problem of body.error as Problem[]) {
    assert.deepEqual(Object.keys(problem).toSorted(), ['message', 'path'])
  }
  return body.error as Problem[]
}

/** The paths of the problems, sorted. Each message has to begin with its path. */
export const problemPaths = (answer: Answer): string[] =>
  problemsOf(answer)
    .map(({ path, message }) => {
      assert.ok(message.startsWith(path === '' ? 'The body ' : `${path} `), message)
      return path
    })
    .toSorted()
