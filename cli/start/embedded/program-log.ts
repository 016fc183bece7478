import { once } from 'node:events'
import { createWriteStream, existsSync, renameSync, type WriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { describeFault } from '../../../runtime/fault.ts'

type ProgramLog = {
  /** Logs the output of a program until the program ends. */
  readonly take: (output: Readable) => void
  readonly close: () => Promise<void>
}

const TRY_AGAIN_AFTER_MS = 10_000

/**
 * Writes the output of a program to a file, and passes on the lines for its operator: warnings,
 * errors, and crashes.
 */
export const programLog = (file: string, passOn: (line: string) => void): ProgramLog => {
  rotateLog(file)
  const lines = createLineWriter(file, passOn)
  const write = (line: string): void => {
    lines.write(`${line}\n`)
    if (isNotable(line)) passOn(line)
  }
  return {
    take: (output) => void createInterface({ input: output, crlfDelay: Infinity }).on('line', write),
    close: lines.close,
  }
}

/**
 * Appends lines to a file. While the file cannot be written, as on a full disk, lines are lost, and
 * `say` gets one line about it.
 */
const createLineWriter = (file: string, say: (line: string) => void) => {
  let stream: WriteStream | undefined
  let openAgainAt = 0
  let isLosing = false
  const lose = (error: Error): void => {
    stream = undefined
    openAgainAt = Date.now() + TRY_AGAIN_AFTER_MS
    if (!isLosing) say(`${file} cannot be written (${describeFault(error)}): lines are lost until it can be.`)
    isLosing = true
  }
  return {
    write: (text: string): void => {
      if (stream === undefined && Date.now() >= openAgainAt) {
        stream = createWriteStream(file, { flags: 'a', mode: 0o600 }).on('error', lose)
      }
      stream?.write(text, (error) => {
        if (!error) isLosing = false
      })
    },
    close: async (): Promise<void> => {
      if (stream === undefined) return
      const closed = once(stream, 'close').catch(() => {})
      stream.end()
      await closed
    },
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
