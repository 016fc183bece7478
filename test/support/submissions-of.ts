import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import type { Operation, Submission } from '../../contract/submission.ts'
import { SCHEMAS } from '../model/submission-arbitrary.ts'

type Given = { operation: Operation; body: unknown } & Partial<
  Pick<Submission, 'submissionId' | 'seenPosition' | 'originalNumber' | 'idempotency'>
>

/** Submissions of one workspace with consecutive numbers and validated bodies. */
export const submissionsOf = (workspaceId: string, firstNumber: number, given: readonly Given[]): Submission[] =>
  given.map(
    ({ operation, body, ...more }, at) =>
      ({
        workspaceId,
        submissionId: randomUUID(),
        number: firstNumber + at,
        operation,
        body: v.parse(SCHEMAS[operation], body),
        ...more,
      }) as Submission,
  )
