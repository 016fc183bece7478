/**
 * The control characters of C0 and C1 except line breaks and tabs. They begin the sequences that a
 * terminal executes.
 */
// oxlint-disable-next-line no-control-regex -- the pattern is about control characters
const CONTROL = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g

/** Shows escape sequences of a file or a name instead of letting the terminal execute them. */
export const printable = (text: string): string =>
  text.replace(CONTROL, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`)
