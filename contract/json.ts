export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject

export type JsonObject = {
  [key: string]: JsonValue
}

/** An array does not count as an object. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Sets a member of any name. A plain assignment to `__proto__` would set the prototype instead. */
export const setMember = (object: JsonObject, key: string, value: JsonValue): void => {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  } else {
    object[key] = value
  }
}
