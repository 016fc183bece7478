import type { Sayings } from '../contract/identity/sayings.ts'
import type { SubmissionJob } from '../contract/job.ts'
import type { RedisClient } from './connect-redis.ts'
import { admissionKeys, existsValue } from './keys.ts'
import { luaScript } from './lua-script.ts'

const PUT_ON_BOOKS = luaScript('put-on-books')

/** Puts a submission that has its number already back on the books, with its sayings. It can be repeated without harm. */
export const putOnBooks = async (
  redis: RedisClient,
  prefix: string,
  { job, sayings: { newIds, aboutKeys } }: { job: SubmissionJob; sayings: Sayings },
): Promise<void> => {
  const { workspaceId, submissionId, number, operation } = job
  const name = admissionKeys(prefix, workspaceId)
  const keys = [name.outstanding, name.exists, name.purges, ...aboutKeys.map(({ keyId }) => name.said(keyId))]
  await redis.eval(
    PUT_ON_BOOKS,
    keys.length,
    ...keys,
    number,
    submissionId,
    operation === 'purge_contact' ? 1 : 0,
    newIds.length,
    ...newIds.flatMap(({ id, of }) => [id, existsValue(number, of)]),
    ...aboutKeys.map(({ sayings }) => JSON.stringify(sayings)),
  )
}
