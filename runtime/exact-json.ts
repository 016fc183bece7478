/** A number with its text, which JSON.stringify writes unchanged. */
type WrittenNumber = { readonly rawJSON: string }

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

const json = JSON as unknown as {
  readonly parse: (text: string, reviver: Reviver) => unknown
  readonly rawJSON: (text: string) => WrittenNumber
  readonly isRawJSON: (value: unknown) => value is WrittenNumber
}

/** Parses JSON and keeps the digits of every number. */
export const parseExactly = (text: string): unknown =>
  json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && source !== String(value) ? json.rawJSON(source) : value,
  )

/** Whether a value from `parseExactly` is an object: no array, number or null. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !json.isRawJSON(value)

/** The text of a number; undefined for any other value. */
export const writtenNumber = (value: unknown): string | undefined => {
  if (typeof value === 'number') return String(value)
  return json.isRawJSON(value) ? value.rawJSON : undefined
}

const DECIMAL = /^([+-]?)0*(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i

/**
 * A number in decimal or exponent notation, with all its digits, but without a plus sign and leading
 * zeros. Undefined for any other text.
 */
export const decimalNumber = (text: string): number | WrittenNumber | undefined => {
  const [, sign, whole = '', fraction = '', exponent] = /^[+-]?\.?\d/.test(text) ? (DECIMAL.exec(text) ?? []) : []
  if (sign === undefined) return undefined
  const significand = `${sign === '-' ? '-' : ''}${whole || '0'}${fraction === '' ? '' : `.${fraction}`}`
  const written = exponent === undefined ? significand : `${significand}e${exponent}`
  return String(Number(written)) === written ? Number(written) : json.rawJSON(written)
}
