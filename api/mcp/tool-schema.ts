import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'

/**
 * A schema in the form of the SDK, with its JSON Schema, which is made once. Its problems never
 * quote a value.
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
        const { success, output: read, issues } = v.safeParse(schema, value)
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
  return {
    message: `${path} must be ${issue.kind === 'schema' && issue.type !== 'picklist' ? issue.expected : issue.message}`,
  }
}
