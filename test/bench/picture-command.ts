import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { printHelp } from '../../process/print-help.ts'
import type { BenchConfig } from './bench-config.ts'
import type { Measure } from './figures/measures.ts'
import { type Growth, growthPicture } from './figures/picture.ts'
import type { Summary } from './figures/statistics.ts'

type Results = { config: BenchConfig; measures: { measure: Measure; summary: Summary }[] }

/** The two figures that could grow with what is there, each with the size that a run took it at. */
const PICTURES = [
  {
    file: 'benchmark-stored.svg',
    title: 'Feedback drained a second, by how much is stored',
    there: 'with so much feedback stored',
    measure: 'feedback drained with much stored',
    amountOf: ({ storedFeedback }: BenchConfig) => storedFeedback,
  },
  {
    file: 'benchmark-waiting.svg',
    title: 'Feedback drained a second, by how much is waiting',
    there: 'with so much waiting',
    measure: 'feedback drained with a backlog',
    amountOf: ({ backlog }: BenchConfig) => backlog,
  },
] as const

printHelp(`usage: npm run bench:pictures -- DIRECTORY RESULTS…
Draws benchmark-stored.svg and benchmark-waiting.svg in the directory, from what runs of "npm run bench -- drain size backlog" wrote
(BENCH_OUTPUT), each with other sizes (BENCH_STORED, BENCH_BACKLOG).`)

const [directory = '.', ...files] = process.argv.slice(2)
const runs = files.map((file) => JSON.parse(readFileSync(file, 'utf8')) as Results)

const summaryOf = ({ measures }: Results, wanted: Measure): Summary => {
  const found = measures.find(({ measure }) => measure === wanted)
  if (found === undefined)
    throw new Error(`A run has no figure "${wanted}": it has to name the sections drain, size and backlog`)
  return found.summary
}

for (const { file, title, there, measure, amountOf } of PICTURES) {
  const growths: Growth[] = runs
    .map((run) => ({
      amount: amountOf(run.config),
      withIt: summaryOf(run, measure),
      without: summaryOf(run, 'feedback drained'),
    }))
    .toSorted((one, other) => one.amount - other.amount)
  const path = join(directory, file)
  writeFileSync(path, growthPicture(title, there, growths))
  console.log(path)
}
