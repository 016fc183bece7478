const BAR_CHARACTERS = 30
const LABEL_CHARACTERS = 16

export type ProgressOutput = { readonly isTTY?: boolean; readonly write: (text: string) => unknown }

export type ProgressBar = {
  readonly set: (done: number) => void
  readonly note: (text: string) => void
  readonly end: () => void
}

/** One line that fills up on a terminal; elsewhere a plain line per note and one at the end. */
export function startProgressBar(label: string, total: number, output: ProgressOutput): ProgressBar {
  let done = 0
  let note = ''
  const line = () => {
    const filled = total === 0 ? BAR_CHARACTERS : Math.floor((BAR_CHARACTERS * done) / total)
    const bar = '█'.repeat(filled).padEnd(BAR_CHARACTERS, '░')
    return `${label.padEnd(LABEL_CHARACTERS)} ${bar} ${done}/${total}${note && `  ${note}`}`
  }
  // Clears to the end of the line, since a note may have been longer.
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
