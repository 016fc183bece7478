import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { isRefusal, type Refusal } from '../http/refusal.ts'
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
  /** Refuses arguments that do not fit the schema. */
  run: (asked: AgentRead, given: unknown) => Promise<Answered | Refusal>
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
  input: shownSchema(input),
  output: shownSchema(v.strictObject({ notice: v.literal(NOTICE), ...output.entries })),
  run: async (asked, given) => {
    const read = readArguments(input, given)
    return isRefusal(read) ? read : run(asked, read.value)
  },
})

/** What the schema makes of arguments. */
export const readArguments = <I extends v.GenericSchema>(
  schema: I,
  given: unknown,
): { value: v.InferOutput<I> } | Refusal => {
  if (sizeOf(given) > MOST_ELEMENTS) return invalid([`arguments must have at most ${MOST_ELEMENTS} members and items`])
  const { success, output, issues } = v.safeParse(schema, given ?? {}, { abortPipeEarly: true })
  return success ? { value: output } : invalid(problemsOf(issues))
}

/** No valid call has as many arguments and tags. */
const MOST_ELEMENTS = 100

const sizeOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, inner) => sum + 1 + sizeOf(inner), 0)
    : 0

const invalid = (messages: readonly string[]): Refusal => ({
  refused: 'invalid',
  problems: messages.map((message) => ({ message, path: '' })),
})

/**
 * A schema in the form of the SDK, with a JSON Schema that is made once. The SDK only shows it: its
 * refusals would be in the words of a library.
 */
export const shownSchema = (schema: v.GenericSchema): StandardSchemaWithJSON => {
  const jsonOf = (typeMode: 'input' | 'output'): Record<string, unknown> => {
    // Checks and transformations of our own have no form in JSON Schema: descriptions tell them.
    return { ...toJsonSchema(schema, { typeMode, errorMode: 'ignore', target: 'draft-2020-12' }) }
  }
  const [input, output] = [jsonOf('input'), jsonOf('output')]
  return {
    '~standard': {
      version: 1,
      vendor: 'feedback-insights',
      validate: (value) => ({ value }),
      jsonSchema: { input: () => input, output: () => output },
    },
  }
}

const MOST_SHOWN_CHARACTERS = 100
const MOST_PROBLEMS = 10

/** The first problems, in words that never quote a value. */
export const problemsOf = (issues: readonly v.BaseIssue<unknown>[] = []): string[] =>
  issues.slice(0, MOST_PROBLEMS).map(problemOf)

const problemOf = (issue: v.BaseIssue<unknown>): string => {
  const path = (v.getDotPath(issue) ?? 'arguments').slice(0, MOST_SHOWN_CHARACTERS)
  const isOfObject = issue.type === 'strict_object' || issue.type === 'object'
  if (isOfObject && issue.expected === 'never') return `${path} is not known here`
  if (isOfObject && issue.input === undefined) return `${path} is required`
  return `${path} must be ${formOf(issue)}`
}

const FORMS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  array: 'an array',
  object: 'an object',
  strict_object: 'an object',
}

/** A schema says its type. A check, and a schema with values of its own, have a message. */
const formOf = ({ kind, type, expected, message }: v.BaseIssue<unknown>): string =>
  kind === 'schema' && type !== 'picklist' && type !== 'custom' ? (FORMS[type] ?? String(expected)) : message
