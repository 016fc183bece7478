import * as v from 'valibot'
import type { Problem } from '../../contract/problem.ts'
import type { Refusal } from '../refusal.ts'

/** The parameters of a query, by name. The message of a schema ends a sentence with "must be". */
export type QuerySchema = Readonly<Record<string, v.GenericSchema<string, unknown>>>
/** Parameters that may come several times. */
export type Repeatable = 'tag'

export type QueryOf<S extends QuerySchema> = {
  [Name in keyof S]?: Name extends Repeatable ? v.InferOutput<S[Name]>[] : v.InferOutput<S[Name]>
}

const REPEATABLE: ReadonlySet<string> = new Set<Repeatable>(['tag'])

/**
 * The parameters of a request. One that is unknown, badly formed, or there twice is refused: an
 * ignored filter would answer with more than was asked for.
 */
export const readQuery = <S extends QuerySchema>(request: Request, schemas: S): QueryOf<S> | Refusal => {
  const given = new URL(request.url).searchParams
  const query: Record<string, unknown> = {}
  const problems: Problem[] = []
  for (const name of new Set(given.keys())) {
    const values = given.getAll(name)
    const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined
    const read = schema === undefined ? UNKNOWN : readParameter(schema, values, REPEATABLE.has(name))
    if ('problem' in read)
      problems.push({ path: name.slice(0, MOST_SHOWN), message: `${name.slice(0, MOST_SHOWN)} ${read.problem}` })
    else query[name] = read.value
  }
  if (problems.length > 0) return { refused: 'invalid', problems: problems.slice(0, MOST_PROBLEMS) }
  return query as QueryOf<S>
}

const MOST_SHOWN = 100
const MOST_PROBLEMS = 100
const UNKNOWN = { problem: 'is no parameter that is known here' }

const readParameter = (
  schema: v.GenericSchema<string, unknown>,
  values: readonly string[],
  isRepeatable: boolean,
): { value: unknown } | { problem: string } => {
  if (values.length > 1 && !isRepeatable) return { problem: 'must be given once' }
  const read = values.map((value) => v.safeParse(schema, value))
  const failed = read.find(({ success }) => !success)
  if (failed?.issues) return { problem: `must be ${failed.issues[0].message}` }
  const outputs = read.map(({ output }) => output)
  return { value: isRepeatable ? outputs : outputs[0] }
}
