/** Makes a value when it is first asked for. For values that take long to make and that few processes need. */
export const atFirstUse = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}
