/** The part of JSON Schema that decides the types. */
type Schema = {
  readonly $ref?: string
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
}

export type ApiReference = { readonly components: { readonly schemas: Readonly<Record<string, Schema>> } }

/** Schemas that users of the client do not see. */
const INSIDE_THE_CLIENT =
  /^(?:BatchRequest|(?:Feedback|Customer|Account|Project|FeedbackCategory)Found|Alive|Ready|Error|ValidationError)$/

const HEAD = '// Made of api/openapi/openapi.json by `npm run client`.\n'

/**
 * Unformatted TypeScript of an OpenAPI 3.1 document: an exported type with its description for each
 * schema that users of the client see.
 */
export const typesOf = ({ components }: ApiReference): string =>
  HEAD +
  Object.entries(components.schemas)
    .filter(([name]) => !INSIDE_THE_CLIENT.test(name))
    .map(([name, schema]) => `\n${documentation(schema)}export type ${name} = ${typeOf(schema)}\n`)
    .join('')

const documentation = ({ description }: Schema): string =>
  description === undefined ? '' : `/** ${description.replaceAll('*/', '*\\/')} */\n`

const typeOf = (schema: Schema): string => {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) return alternatives.map(typeOf).join(' | ')
  if (schema.type === undefined) throw new Error(`No type is known for ${JSON.stringify(schema)}`)
  return [schema.type]
    .flat()
    .map((type) => namedType(type, schema))
    .join(' | ')
}

const namedType = (type: string, schema: Schema): string => {
  switch (type) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return type
    case 'integer':
      return 'number'
    case 'array':
      return arrayType(schema)
    case 'object':
      return objectType(schema)
    default:
      throw new Error(`No type is known for ${type}`)
  }
}

const arrayType = ({ items, minItems, maxItems }: Schema): string => {
  const item = items ? typeOf(items) : 'unknown'
  const isPair = minItems === 2 && maxItems === 2
  return isPair ? `readonly [${item}, ${item}]` : `readonly (${item})[]`
}

const objectType = ({ properties = {}, required = [], additionalProperties }: Schema): string => {
  const members = Object.entries(properties).map(([name, schema]) => {
    const isRequired = required.includes(name)
    // JSON leaves out a member with the value undefined.
    return `${documentation(schema)}readonly ${name}${isRequired ? '' : '?'}: ${typeOf(schema)}${isRequired ? '' : ' | undefined'}`
  })
  if (additionalProperties === true) members.push('readonly [key: string]: unknown')
  else if (additionalProperties) members.push(`readonly [key: string]: ${typeOf(additionalProperties)}`)
  return `{\n${members.join('\n')}\n}`
}
