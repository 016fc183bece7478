import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import { FILTERS } from '../../contract/feedback-filters.ts'
import { asExpected } from '../../contract/loose-form.ts'
import { isRefusal, type Refusal } from '../http/refusal.ts'
import type { AgentRead } from './agent-read.ts'

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
  /** Refuses arguments that do not fit the schema. */
  run: (asked: AgentRead, given: unknown) => Promise<Answered | Refusal>
}

export const defineTool = <I extends v.GenericSchema>({
  input,
  run,
  ...named
}: Pick<Tool, 'name' | 'title' | 'description'> & {
  input: I
  run: (asked: AgentRead, input: v.InferOutput<I>) => Promise<Answered | Refusal>
}): Tool => ({
  ...named,
  input: shownSchema(input),
  run: async (asked, given) => {
    const read = readArguments(input, given)
    return isRefusal(read) ? read : run(asked, read.value)
  },
})

/** What the schema makes of arguments, also of those in a similar form. */
export const readArguments = <I extends v.GenericSchema>(
  schema: I,
  given: unknown,
): { value: v.InferOutput<I> } | Refusal => {
  if (sizeOf(given) > MOST_ELEMENTS) return invalid([`arguments must have at most ${MOST_ELEMENTS} members and items`])
  const expected = asExpected(schema, given ?? {})
  const { success, output, issues } = v.safeParse(schema, expected, { abortPipeEarly: true })
  return success ? { value: output } : invalid(problemsOf(issues, schema))
}

/** No valid call has as many arguments and tags. */
const MOST_ELEMENTS = 100

const sizeOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, inner) => sum + 1 + sizeOf(inner), 0)
    : 0

export const invalid = (messages: readonly string[]): Refusal => ({
  refused: 'invalid',
  problems: messages.map((message) => ({ message, path: '' })),
})

/**
 * A schema in the form of the SDK, with a JSON Schema that is made once. The SDK only shows it: its
 * refusals would be in the words of a library.
 */
export const shownSchema = (schema: v.GenericSchema): StandardSchemaWithJSON => {
  // Checks and transformations of our own have no form in JSON Schema: descriptions tell them.
  const { $schema: _, ...made } = toJsonSchema(schema, {
    typeMode: 'input',
    errorMode: 'ignore',
    target: 'draft-2020-12',
  })
  const json = withoutFormats(made) as Record<string, unknown>
  return {
    '~standard': {
      version: 1,
      vendor: 'feedback-insights',
      validate: (value) => ({ value }),
      jsonSchema: { input: () => json, output: () => json },
    },
  }
}

/** Some programs refuse tools whose schemas have a format that they do not know, such as uuid. */
const withoutFormats = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(withoutFormats)
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]) =>
      name === 'format' && value !== 'date-time' ? [] : [[name, withoutFormats(value)]],
    ),
  )
}

const MOST_SHOWN_CHARACTERS = 100
const MOST_PROBLEMS = 10

/** The first problems, in words that never quote a value. */
export const problemsOf = (issues: readonly v.BaseIssue<unknown>[] = [], schema?: v.GenericSchema): string[] =>
  issues.slice(0, MOST_PROBLEMS).map((issue) => problemOf(issue, schema))

const problemOf = (issue: v.BaseIssue<unknown>, schema: v.GenericSchema | undefined): string => {
  const path = (v.getDotPath(issue) ?? 'arguments').slice(0, MOST_SHOWN_CHARACTERS)
  const isOfObject = issue.type === 'strict_object' || issue.type === 'object'
  if (isOfObject && issue.expected === 'never') return `${path} is not known here${knownInstead(path, schema)}`
  if (isOfObject && issue.input === undefined) return `${path} is required`
  return `${path} must be ${formOf(issue)}`
}

/** What a caller can give in place of an unknown member. */
const knownInstead = (path: string, schema: object = {}): string => {
  if (path.startsWith('filters.')) return `; filters are ${Object.keys(FILTERS).join(', ')}`
  const known = 'entries' in schema ? Object.keys(schema.entries as object) : []
  if (known.includes('filters') && Object.hasOwn(FILTERS, path)) return `: put it into filters`
  return known.length === 0 ? '' : `; arguments are ${known.join(', ')}`
}

const FORMS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  strict_object: 'an object',
}

/** A schema says its type. A check, and a schema with values of its own, have a message. */
const formOf = ({ kind, type, expected, message }: v.BaseIssue<unknown>): string =>
  kind === 'schema' && type !== 'picklist' && type !== 'custom' ? (FORMS[type] ?? String(expected)) : message
