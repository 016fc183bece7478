import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { rotateLog } from './rotate-log.ts'

export type ProgramLog = {
  /** Writes down what comes out of a program, until it ends. */
  readonly take: (output: Readable) => void
  readonly close: () => Promise<void>
}

/** Keeps what a program prints in a file, and passes on what its operator should see: warnings, errors, and crashes. */
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

/** Everything but the routine: what is not an event at all comes from the runtime, and is a crash. */
const isNotable = (line: string): boolean => {
  try {
    const event: unknown = JSON.parse(line)
    if (typeof event !== 'object' || event === null || !('level' in event)) return true
    return event.level !== 'info' && event.level !== 'debug'
  } catch {
    return line.trim() !== ''
  }
}
