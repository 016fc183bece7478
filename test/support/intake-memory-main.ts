import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { takeIn } from './app-without-stores.ts'
import { DEAR_INTAKES, maxBytesOf } from './dear-intakes.ts'

// Takes in small bodies of a dear intake, then its largest. Prints how many bytes, at most, the
// memory of the process grows for the largest.

const SMALL_BYTES = 2_000
const WARM_UPS = 20
const KIB = 1024

const statusBytes = (name: string): number =>
  Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))![1]) * KIB

const intake = DEAR_INTAKES.find(({ title }) => title === process.argv[2])
assert.ok(intake)
const bytes = new TextEncoder().encode(intake.text(maxBytesOf(intake.operation)))
const small = new TextEncoder().encode(intake.text(SMALL_BYTES))
for (let time = 0; time < WARM_UPS; time++) await takeIn(intake.operation, small.slice())
const before = statusBytes('VmRSS')
await takeIn(intake.operation, bytes)
console.log(statusBytes('VmHWM') - before)
