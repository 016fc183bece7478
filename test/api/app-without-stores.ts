import { type AppDependencies, createApp } from '../../api/app.ts'
import type { Authenticate } from '../../api/authenticate.ts'

const notAsked = (): never => {
  throw new Error('Nothing here may ask a store')
}

/** The service with nothing behind it: no token is valid, unless `authenticate` says so, and no store is asked. */
export const appWithoutStores = (
  corsOrigins: readonly string[] = [],
  authenticate: Authenticate = async () => ({ refused: 'unauthenticated' }),
): ReturnType<typeof createApp> => {
  const intake: AppDependencies['intake'] = {
    authenticate,
    isWhole: notAsked,
    admit: notAsked,
    resolveReferences: notAsked,
    canPurgeMatch: notAsked,
    awaitProgress: notAsked,
    bodies: { hold: notAsked, inTurn: notAsked, takeAnswer: notAsked, figures: notAsked },
    emptyBuckets: { find: notAsked, seen: notAsked },
    pressure: notAsked,
    limitOf: () => undefined,
    maxBytes: { body: 1, conversation: 1 },
    hashKey: Buffer.alloc(32) as unknown as AppDependencies['intake']['hashKey'],
    onFault: notAsked,
    count: () => {},
  }
  return createApp({
    intake,
    receipts: { authenticate, findStored: notAsked, findQueued: notAsked, onFault: notAsked },
    readsTrailers: true,
    isReady: async () => true,
    board: notAsked,
    overview: notAsked,
    corsOrigins,
    metrics: notAsked,
    answered: () => {},
    log: () => {},
  })
}
