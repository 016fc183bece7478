import { createWriteStream, existsSync, renameSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

type ProgramLog = {
  /** Logs the output of a program until the program ends. */
  readonly take: (output: Readable) => void
  readonly close: () => Promise<void>
}

/**
 * Writes the output of a program to a file, and passes on the lines for its operator: warnings,
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
 * Whether the operator should see a line: an event above the level info, or text that is no event,
 * such as a crash of the runtime.
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

/** Keeps the logs of this start and of the previous one. */
export const rotateLog = (file: string): void => {
  if (existsSync(file)) renameSync(file, `${file}.1`)
}
