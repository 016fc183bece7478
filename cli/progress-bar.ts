const BAR_CHARACTERS = 30
const LABEL_CHARACTERS = 16
const MS_PER_SECOND = 1_000
const SECONDS_PER_MINUTE = 60

export type ProgressOutput = { readonly isTTY?: boolean; readonly write: (text: string) => unknown }

export type ProgressBar = {
  readonly set: (done: number) => void
  readonly note: (text: string) => void
  readonly end: () => void
}

type ProgressBarOptions = {
  readonly label: string
  readonly total: number
  readonly output: ProgressOutput
  /** A clock in milliseconds. With a clock the bar shows the rate and the remaining time. */
  readonly now?: () => number
}

/**
 * Shows progress: on a terminal in one line that fills up, elsewhere in a plain line for each note
 * and a last line at the end.
 */
export const startProgressBar = ({ label, total, output, now }: ProgressBarOptions): ProgressBar => {
  const started = now?.() ?? 0
  let done = 0
  let note = ''
  const pace = (): string => (now === undefined ? '' : paceOf(done, total - done, now() - started))
  const line = () => {
    const filled = total === 0 ? BAR_CHARACTERS : Math.floor((BAR_CHARACTERS * done) / total)
    const bar = '█'.repeat(filled).padEnd(BAR_CHARACTERS, '░')
    return `${label.padEnd(LABEL_CHARACTERS)} ${bar} ${done}/${total}${pace()}${note && `  ${note}`}`
  }
  // Clears the rest of the line, since an earlier note may have been longer.
  const draw = () => output.isTTY === true && output.write(`\r${line()}\u001b[K`)
  draw()
  return {
    set(value) {
      done = Math.min(value, total)
      note = ''
      draw()
    },
    note(text) {
      if (text === note) return
      note = text
      if (output.isTTY === true) draw()
      else output.write(`${label}: ${text}\n`)
    },
    end() {
      note = ''
      output.write(output.isTTY === true ? `\r${line()}\u001b[K\n` : `${label}: ${done}/${total}${pace()}\n`)
    },
  }
}

const paceOf = (done: number, left: number, elapsedMs: number): string => {
  if (done === 0 || elapsedMs <= 0) return ''
  const perSecond = (done * MS_PER_SECOND) / elapsedMs
  const rate = `  ${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)}/s`
  return left === 0 ? rate : `${rate}, ${minutesAndSeconds(left / perSecond)} left`
}

const minutesAndSeconds = (seconds: number): string => {
  const whole = Math.ceil(seconds)
  return `${Math.floor(whole / SECONDS_PER_MINUTE)}:${String(whole % SECONDS_PER_MINUTE).padStart(2, '0')}`
}
