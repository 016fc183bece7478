import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { printHelp } from '../process/print-help.ts'
import type { BenchConfig } from './bench-config.ts'
import type { Measure } from './figures/measures.ts'
import { type Growth, growthPicture } from './figures/picture.ts'
import type { Summary } from './figures/statistics.ts'

type Results = { config: BenchConfig; measures: { measure: Measure; summary: Summary }[] }

/**
 * The two figures that could change with the amount that is there, each with the figure of a run
 * without it.
 */
const PICTURES = [
  {
    file: 'benchmark-stored.svg',
    title: 'Feedback accepted and applied a second, by how much is stored',
    there: 'with so much feedback stored',
    measure: 'end to end with much stored',
    without: 'end to end',
    amountOf: ({ storedFeedback }: BenchConfig) => storedFeedback,
  },
  {
    file: 'benchmark-waiting.svg',
    title: 'Feedback accepted a second, by how much is waiting',
    there: 'with so much waiting',
    measure: 'accepted with a backlog',
    without: 'accepted, everything on',
    amountOf: ({ backlog }: BenchConfig) => backlog,
  },
] as const

printHelp(`usage: npm run bench:pictures -- DIRECTORY RESULTS…
Draws benchmark-stored.svg and benchmark-waiting.svg in the directory, from the results (BENCH_OUTPUT) of runs of
"npm run bench -- ingress end-to-end size backlog" with different sizes (BENCH_STORED, BENCH_BACKLOG).`)

const [directory = '.', ...files] = process.argv.slice(2)
const runs = files.map((file) => JSON.parse(readFileSync(file, 'utf8')) as Results)

const summaryOf = ({ measures }: Results, wanted: Measure): Summary => {
  const found = measures.find(({ measure }) => measure === wanted)
  if (found === undefined)
    throw new Error(
      `A run has no figure "${wanted}": it has to name the sections ingress, end-to-end, size and backlog`,
    )
  return found.summary
}

for (const { file, title, there, measure, without, amountOf } of PICTURES) {
  const growths: Growth[] = runs
    .map((run) => ({
      amount: amountOf(run.config),
      withIt: summaryOf(run, measure),
      without: summaryOf(run, without),
    }))
    .toSorted((one, other) => one.amount - other.amount)
  const path = join(directory, file)
  writeFileSync(path, growthPicture(title, there, growths))
  console.log(path)
}
