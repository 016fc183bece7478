import process from 'node:process'
import type { Parameters } from 'fast-check'

/**
 * Parameters for `fc.assert`, which prints the seed of a failure. `FC_SEED` with this seed repeats
 * the same cases.
 */
export const seeded = <T>(parameters: Parameters<T> = {}): Parameters<T> => {
  const given = process.env['FC_SEED']
  if (given === undefined || given === '') return parameters
  const seed = Number(given)
  if (!Number.isInteger(seed)) throw new Error('FC_SEED must be an integer, as a failed property prints it')
  return { ...parameters, seed }
}
