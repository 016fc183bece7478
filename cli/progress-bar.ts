const BAR_CHARACTERS = 30
const LABEL_CHARACTERS = 16

export type ProgressOutput = { readonly isTTY?: boolean; readonly write: (text: string) => unknown }

export type ProgressBar = {
  readonly set: (done: number) => void
  readonly note: (text: string) => void
  readonly end: () => void
}

type Progress = { readonly label: string; readonly total: number; readonly output: ProgressOutput }

/**
 * On a terminal, one line that fills up. Elsewhere, a plain line for each note and one at the end.
 */
export const startProgressBar = ({ label, total, output }: Progress): ProgressBar => {
  let done = 0
  let note = ''
  const line = () => {
    const filled = total === 0 ? BAR_CHARACTERS : Math.floor((BAR_CHARACTERS * done) / total)
    const bar = '█'.repeat(filled).padEnd(BAR_CHARACTERS, '░')
    return `${label.padEnd(LABEL_CHARACTERS)} ${bar} ${done}/${total}${note && `  ${note}`}`
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
      output.write(output.isTTY === true ? `\r${line()}\u001b[K\n` : `${label}: ${done}/${total}\n`)
    },
  }
}
