import { createWriteStream, existsSync, renameSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

export type ProgramLog = {
  /** Writes down the output of a program, until the program ends. */
  readonly take: (output: Readable) => void
  readonly close: () => Promise<void>
}

/**
 * Keeps the output of a program in a file, and passes on what its operator should see: warnings,
 * errors, and crashes.
 */
export const programLog = (file: string, passOn: (line: string) => void): ProgramLog => {
  rotateLog(file)
  const stream = createWriteStream(file, { flags: 'a', mode: 0o600 })
  const write = (line: string): void => {
    stream.write(`${line}\n`)
    if (isNotable(line)) passOn(line)
  }
  return {
    take: (output) => void createInterface({ input: output, crlfDelay: Infinity }).on('line', write),
    close: () => new Promise((resolve) => stream.end(resolve)),
  }
}

/**
 * Everything above the level info. A line that is no event comes from the runtime, and tells of a
 * crash.
 */
const isNotable = (line: string): boolean => {
  try {
    const event: unknown = JSON.parse(line)
    if (typeof event !== 'object' || event === null || !('level' in event)) return true
    return event.level !== 'info' && event.level !== 'debug'
  } catch {
    return line.trim() !== ''
  }
}

/** Keeps the log of one start and of the start before it. */
export const rotateLog = (file: string): void => {
  if (existsSync(file)) renameSync(file, `${file}.1`)
}
