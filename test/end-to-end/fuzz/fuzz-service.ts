import { type Service, startService } from '../../support/service.ts'

let started: Promise<Service> | undefined

/** The service for both tests of this folder. It ends with the run. */
export const fuzzService = (): Promise<Service> =>
  (started ??= startService({ environment: { CONVERSATIONS_PER_MINUTE: '1000000' } }))
