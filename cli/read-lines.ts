import { createReadStream } from 'node:fs'

const BYTES_AT_ONCE = 1024 * 1024

/**
 * The lines of a file, without their line feeds. Unlike `node:readline`, this does not split at
 * U+2028, which JSON texts may contain.
 *
 * @throws when the file cannot be read
 */
export const readLines = async function* (path: string): AsyncGenerator<string> {
  let rest = ''
  for await (const piece of createReadStream(path, { encoding: 'utf8', highWaterMark: BYTES_AT_ONCE })) {
    const lines = (rest + String(piece)).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}
