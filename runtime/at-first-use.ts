/** Makes a value when it is first asked for: one that takes long to make, and that not every process needs. */
export const atFirstUse = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}
