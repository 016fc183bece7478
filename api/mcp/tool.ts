import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import type { Refusal } from '../http/refusal.ts'
import type { AgentRead } from './agent-read.ts'
import { NOTICE } from './quote.ts'

/**
 * `records`, for log and metrics: how many records the figures of the answer count, or how many
 * records an answer without figures shows.
 */
export type Answered<Answer extends object = object> = { answer: Answer; records: number }

export type Tool = {
  name: string
  title: string
  description: string
  input: StandardSchemaWithJSON
  output: StandardSchemaWithJSON
  /** `input` is what the schema made of the arguments. */
  run: (asked: AgentRead, input: unknown) => Promise<Answered | Refusal>
}

/** Defines a tool. The compiler checks the answer of `run` against `output`. */
export const defineTool = <I extends v.GenericSchema, O extends v.StrictObjectSchema<v.ObjectEntries, undefined>>({
  input,
  output,
  run,
  ...named
}: Pick<Tool, 'name' | 'title' | 'description'> & {
  input: I
  output: O
  run: (asked: AgentRead, input: v.InferOutput<I>) => Promise<Answered<v.InferOutput<O>> | Refusal>
}): Tool => ({
  ...named,
  input: toolSchema(input),
  output: toolSchema(v.strictObject({ notice: v.literal(NOTICE), ...output.entries })),
  run: (asked, given) => run(asked, given),
})

/**
 * A schema in the form of the SDK, with a JSON Schema that is made once. Problems never quote a
 * value.
 */
export const toolSchema = (schema: v.GenericSchema): StandardSchemaWithJSON => {
  const jsonOf = (typeMode: 'input' | 'output'): Record<string, unknown> => {
    // Checks and transformations of our own have no form in JSON Schema: descriptions tell them.
    return { ...toJsonSchema(schema, { typeMode, errorMode: 'ignore', target: 'draft-2020-12' }) }
  }
  const [input, output] = [jsonOf('input'), jsonOf('output')]
  return {
    '~standard': {
      version: 1,
      vendor: 'feedback-insights',
      validate: (value) => {
        const { success, output: read, issues } = v.safeParse(schema, value, { abortPipeEarly: true })
        return success ? { value: read } : { issues: issues.map(problemOf) }
      },
      jsonSchema: { input: () => input, output: () => output },
    },
  }
}

const MOST_SHOWN_CHARACTERS = 100

const problemOf = (issue: v.BaseIssue<unknown>): { message: string } => {
  const path = (v.getDotPath(issue) ?? 'arguments').slice(0, MOST_SHOWN_CHARACTERS)
  if (issue.type === 'strict_object' && issue.expected === 'never') return { message: `${path} is not known here` }
  if (issue.type === 'strict_object' && issue.input === undefined) return { message: `${path} is required` }
  return {
    message: `${path} must be ${issue.kind === 'schema' && issue.type !== 'picklist' ? issue.expected : issue.message}`,
  }
}
