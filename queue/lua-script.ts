import { readFileSync } from 'node:fs'

/** The text of a script in `lua/`, after the functions of `lua/functions/` that it calls. */
export const luaScript = (name: string, functions: readonly string[] = []): string =>
  [...functions.map((each) => `functions/${each}`), name].map(readLua).join('')

const readLua = (path: string): string => readFileSync(new URL(`./lua/${path}.lua`, import.meta.url), 'utf8')
