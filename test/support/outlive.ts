import { setTimeout as pause } from 'node:timers/promises'
import { ownWorkspace } from './own-workspace.ts'
import type { Service } from './service.ts'
import { assertEqualsModel, type Confirmed, submitHistory } from './submitted-history.ts'

/** So many are answered before the fault strikes. */
const BEFORE = 25
const SUBMISSIONS = 60
/** The least time that submissions go on after the fault, so that some of them meet a service that has just recovered. */
const AFTER_MS = 300

type Struck = Pick<Service, 'sql' | 'redis' | 'redisPrefix' | 'environment' | 'urls'>
export type Ordeal = {
  /** Begins while submissions come in, and ends when the fault is over. */
  strike: () => Promise<unknown>
  submissions?: number
  /** Left out where answers get lost (submitted-history.ts). */
  purges?: boolean
}

/**
 * The one form of a fault test: submits a random history in a workspace of its own while a fault strikes, repeats what was not
 * answered, and waits until all is settled. Then the rows equal the model's, nothing is dead, and the ledger is exact.
 */
export const outlive = async (
  service: Struck,
  { strike, submissions = SUBMISSIONS, purges = true }: Ordeal,
): Promise<Confirmed> => {
  const own = await ownWorkspace(service)
  const begin = Promise.withResolvers<void>()
  const during = begin.promise.then(strike).then(() => pause(AFTER_MS))
  const confirmed = await submitHistory(own, submissions, {
    during,
    purges,
    answered: (count) => {
      if (count === BEFORE) begin.resolve()
    },
  })
  await assertEqualsModel(own, confirmed)
  return confirmed
}
