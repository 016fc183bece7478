/**
 * The control characters (C0, DEL and C1) except line feeds and tabs. The sequences that a terminal
 * executes begin with one of them.
 */
// oxlint-disable-next-line no-control-regex -- the pattern is about control characters
const CONTROL = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g

/** Shows escape sequences of a file or a name instead of letting the terminal execute them. */
export const printable = (text: string): string =>
  text.replace(CONTROL, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`)
