import process from 'node:process'
import type { Parameters } from 'fast-check'

/**
 * Adds the seed `FC_SEED` to parameters of `fc.assert`, to repeat the cases of a run. Throws if it
 * is not an integer.
 */
export const seeded = <T>(parameters: Parameters<T> = {}): Parameters<T> => {
  const given = process.env['FC_SEED']
  if (given === undefined || given === '') return parameters
  const seed = Number(given)
  if (!Number.isInteger(seed)) throw new Error('FC_SEED must be an integer: the seed that a failed property prints')
  return { ...parameters, seed }
}
