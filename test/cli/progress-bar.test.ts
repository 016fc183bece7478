import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startProgressBar } from '../../cli/progress-bar.ts'

const captured = (isTTY: boolean) => {
  const written: string[] = []
  return { written, output: { isTTY, write: (text: string) => void written.push(text) } }
}

test('on a terminal the progress bar is one line that fills up', () => {
  const { written, output } = captured(true)
  const bar = startProgressBar({ label: 'Feedback', total: 4, output })
  bar.set(2)
  bar.note('waiting 3 s')
  bar.set(4)
  bar.end()
  const lines = written.map((text) => text.replace('\r', '').replace('\u001b[K', ''))
  assert.deepEqual(lines, [
    `Feedback         ${'░'.repeat(30)} 0/4`,
    `Feedback         ${'█'.repeat(15)}${'░'.repeat(15)} 2/4`,
    `Feedback         ${'█'.repeat(15)}${'░'.repeat(15)} 2/4  waiting 3 s`,
    `Feedback         ${'█'.repeat(30)} 4/4`,
    `Feedback         ${'█'.repeat(30)} 4/4\n`,
  ])
})

test('elsewhere the progress bar writes a plain line for each new note, and one at its end', () => {
  const { written, output } = captured(false)
  const bar = startProgressBar({ label: 'Feedback', total: 2, output })
  bar.set(1)
  bar.note('waiting 3 s')
  bar.note('waiting 3 s')
  bar.set(2)
  bar.end()
  assert.deepEqual(written, ['Feedback: waiting 3 s\n', 'Feedback: 2/2\n'])
})

test('with a clock the progress bar shows the rate and the remaining time', () => {
  const { written, output } = captured(true)
  let clock = 0
  const bar = startProgressBar({ label: 'Feedback', total: 1_000, output, now: () => clock })
  clock = 2_000
  bar.set(100)
  bar.set(1_000)
  bar.end()
  const shown = written.map((text) => text.replace('\u001b[K', '').trimEnd())
  assert.match(shown[0] ?? '', / 0\/1000$/)
  assert.match(shown[1] ?? '', / 100\/1000 {2}50\/s, 0:18 left$/)
  assert.match(shown[3] ?? '', / 1000\/1000 {2}500\/s$/)
})
