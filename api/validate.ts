import type * as v from 'valibot'
import { checkBody } from '../contract/problem.ts'
import type { Refusal } from './refusal.ts'

/** The value as the schema makes it, or the refusal with every problem. */
export const validate = <S extends v.GenericSchema>(
  schema: S,
  value: unknown,
): { valid: v.InferOutput<S> } | Extract<Refusal, { refused: 'invalid' }> => {
  const checked = checkBody(schema, value)
  return 'valid' in checked ? checked : { refused: 'invalid', problems: checked.problems }
}
