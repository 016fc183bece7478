import type { Sayings } from '../contract/identity/sayings.ts'
import { type Batched, batchOfOne } from './batch.ts'
import type { RedisClient } from './connect-redis.ts'
import { admissionKeys, compactId } from './keys.ts'
import { luaScript } from './lua-script.ts'
import { factsOf } from './queued-facts.ts'

const PUT_ON_BOOKS = luaScript('put-on-books', ['facts', 'existing'])

/** Puts a submission that has its number already on the books, as a batch of its own, and into the outbox. Harmless to repeat. */
export const puttingOnBooksIn =
  (redis: RedisClient, prefix: string) =>
  async (batched: Batched, sayings: Sayings): Promise<void> => {
    const { workspaceId, submissionId, number, operation } = batched.submission
    const name = admissionKeys(prefix, workspaceId)
    const { outstanding, exists, purges, ledger, facts, outbox, removing } = name
    const keys = [outstanding, exists, purges, ledger, facts, outbox, name.batch(submissionId), removing]
    const isPurge = operation === 'purge_contact' ? 1 : 0
    const settings = [name.before.facts, submissionId, number, batchOfOne(batched), isPurge, Date.now()]
    const existing = sayings.newIds.flatMap(({ id, of }) => [compactId(id), of])
    const said = factsOf(sayings).flatMap(({ keyId, saying }) => [keyId, saying])
    await redis.eval(PUT_ON_BOOKS, keys.length, ...keys, ...settings, sayings.newIds.length, ...existing, ...said)
  }
