/**
 * Of C0 and C1 all but line breaks and tabs: a terminal carries out what begins with one of these.
 */
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const CONTROL = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g

/**
 * A text for a terminal. A file or a name can hold escape sequences, and these are shown instead of
 * carried out.
 */
export const printable = (text: string): string =>
  text.replace(CONTROL, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`)
