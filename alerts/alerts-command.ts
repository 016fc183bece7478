import process from 'node:process'
import { parseArgs } from 'node:util'
import { printHelp } from '../runtime/print-help.ts'
import { simulate } from './simulate.ts'

const USAGE = `usage: npm run alerts -- simulate [--quarters 200] [--texts 100] [--bursts 0] [--seed 1]
Simulates quarters of a workspace, and prints how many alerts are false, and how soon events are told.
--texts: on a mean day. --bursts: how much the logarithm of the share of a theme varies from week to week.`

const numberOf = (text: string): number => {
  const value = Number(text)
  if (text === '' || !(value >= 0)) throw new Error(USAGE)
  return value
}

const main = (): void => {
  printHelp(USAGE)
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quarters: { type: 'string', default: '200' },
      texts: { type: 'string', default: '100' },
      bursts: { type: 'string', default: '0' },
      seed: { type: 'string', default: '1' },
    },
  })
  if (positionals.join(' ') !== 'simulate') throw new Error(USAGE)
  const options = {
    seed: numberOf(values.seed),
    quarters: numberOf(values.quarters),
    textsOfDay: numberOf(values.texts),
    bursts: numberOf(values.bursts),
  }
  process.stdout.write(`${JSON.stringify({ ...options, ...simulate(options) }, null, 2)}\n`)
}

try {
  main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
