import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { printHelp } from '../../runtime/print-help.ts'
import { PEOPLE_FEATURES, FEATURES } from '../../tagger/features.ts'
import { fitModel } from './fit-tags.ts'
import type { Model } from './fit-tags.ts'
import { toAllCases } from './tag-cases.ts'
import { readHuLiu, readSupport } from './tag-data.ts'

const TARGET = fileURLToPath(new URL('../../tagger/data/weights.json', import.meta.url))

const toFile = ({ weights, thresholds }: Model): object => {
  return {
    words: byName(FEATURES, weights.words),
    plain: byName(FEATURES, weights.plain),
    people: byName(PEOPLE_FEATURES, weights.people),
    thresholds: Object.fromEntries(Object.entries(thresholds).map(([name, value]) => [name, rounded(value)])),
  }
}

const byName = (names: readonly string[], values: readonly number[]): Record<string, number> => {
  return Object.fromEntries(names.map((name, at) => [name, rounded(values[at] ?? 0)]))
}

const rounded = (value: number): number => {
  return Number(value.toFixed(3))
}

printHelp(`usage: npm run fit:tags
Fits the weights of the tagger on huliu2004.jsonl and support-dev.jsonl of bench/tags/data.
Writes tagger/data/weights.json.`)
writeFileSync(
  TARGET,
  `${JSON.stringify(toFile(fitModel(toAllCases([...readHuLiu(), ...readSupport('dev')]))), null, 2)}\n`,
)
