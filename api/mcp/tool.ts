import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import type * as v from 'valibot'
import type { Refusal } from '../refusal.ts'
import type { Asked } from './asked.ts'
import { toolSchema } from './tool-schema.ts'

/** `records`: how many records the answer shows or counts, for the log. */
export type Answered<Answer extends object = object> = { answer: Answer; records: number }

export type Tool = {
  name: string
  title: string
  description: string
  input: StandardSchemaWithJSON
  output: StandardSchemaWithJSON
  /** `input` has been read by the schema. */
  run: (asked: Asked, input: unknown) => Promise<Answered | Refusal>
}

/** Defines a tool. The compiler checks its answer against its schema. */
export const defineTool = <I extends v.GenericSchema, O extends v.GenericSchema<object>>({
  input,
  output,
  run,
  ...named
}: Pick<Tool, 'name' | 'title' | 'description'> & {
  input: I
  output: O
  run: (asked: Asked, input: v.InferOutput<I>) => Promise<Answered<v.InferOutput<O>> | Refusal>
}): Tool => ({
  ...named,
  input: toolSchema(input),
  output: toolSchema(output),
  run: (asked, given) => run(asked, given),
})
