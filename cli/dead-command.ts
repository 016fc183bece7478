import process from 'node:process'
import { isDateTime } from '../contract/date-time.ts'
import { type Operation, QUEUE_OF } from '../contract/job.ts'
import { asOwnId, hashKeyFrom } from '../contract/identity/own-id.ts'
import { countDead, type DeadEntry, type DeadFilter, dropDead, findDead, listDead } from '../db/submissions/dead.ts'
import { isMadeWith } from '../db/installation.ts'
import { closeQueues, openQueues } from '../queue/job-queues.ts'
import { redisCondition } from '../queue/redis-condition.ts'
import { replay, type ReplayOutcome, type ReplayStores } from './replay.ts'
import { CommandError, runCommand } from './run-command.ts'

const OPERATIONS = Object.keys(QUEUE_OF) as Operation[]
const LISTED = 100

const USAGE = `usage: npm run dead -- list [FILTERS]
       npm run --silent dead -- show ID
       npm run dead -- replay ID
       npm run dead -- replay all [FILTERS]
       npm run dead -- drop ID
       npm run dead -- drop all [FILTERS]

Dead submissions were accepted and cannot be stored.
list    how many there are for each reason, and the first ${LISTED} of them
show    one of them with all that was submitted, as JSON
replay  queues them again under their former ids and in their former places; what was purged since stays purged
drop    deletes what was submitted for good; the receipts stay

FILTERS: --workspace NAME, --reason REASON (as listed), --since TIME (when it died: 2026-01-31T09:30:00Z),
         --operation ${OPERATIONS.join('|')}`

const NONE = 'There is no such dead submission. See: npm run dead -- list'

/** As for new work: workers need room in Redis to drain it. */
const FULL_SHARE = 0.8
const LOOK_AT_MEMORY_EVERY = 100

const SAID_OF: Readonly<Record<ReplayOutcome, string>> = {
  queued: 'queued again',
  unknown: 'not dead any more',
  finishing: 'still at the worker that gave them up: repeat it in half a minute',
  'being-purged': 'being purged',
  'undecided-purge': 'purges that concerned nobody yet: submit them again, then drop these',
  unreadable: 'of another version: this one cannot read them',
}

const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

const filterOf = (values: Readonly<Record<string, string | undefined>>): DeadFilter => {
  const { workspace, reason, operation, since } = values
  const known = OPERATIONS.find((one) => one === operation)
  if (operation !== undefined && known === undefined) {
    throw new CommandError(`--operation must be one of ${OPERATIONS.join(', ')}.`)
  }
  if (since !== undefined && !isDateTime(since)) {
    throw new CommandError('--since must be a date-time with an offset, such as 2026-01-31T09:30:00Z.')
  }
  return { workspace, reason, operation: known, since: since === undefined ? undefined : new Date(since) }
}

const idOf = (word: string): string => {
  const id = asOwnId(word)
  if (id === undefined) throw new CommandError('The id of a submission is a UUID. See: npm run dead -- list')
  return id
}

const lineOf = ({ id, workspace, operation, attempts, reason, diedAt, replayedAt }: DeadEntry): string => {
  const again = replayedAt === null ? '' : `  queued again ${replayedAt.toISOString()}`
  return `${id}  ${workspace}  ${operation}  died ${diedAt.toISOString()}  attempts ${attempts}  ${reason}${again}`
}

const replayAll = async (stores: ReplayStores, found: readonly DeadEntry[]): Promise<Map<ReplayOutcome, number>> => {
  const outcomes = new Map<ReplayOutcome, number>()
  for (const [index, dead] of found.entries()) {
    if (index % LOOK_AT_MEMORY_EVERY === 0) {
      const { usedBytes, maxBytes } = await redisCondition(stores.redis)
      if (maxBytes > 0 && usedBytes >= FULL_SHARE * maxBytes) {
        throw new CommandError(`Redis is nearly full. ${index} of ${found.length} were replayed; repeat it later.`)
      }
    }
    const outcome = await replay(stores, dead)
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  return outcomes
}

const report = (outcomes: ReadonlyMap<ReplayOutcome, number>): void => {
  for (const [outcome, count] of outcomes) print(`${count} ${SAID_OF[outcome]}`)
  const done = (outcomes.get('queued') ?? 0) + (outcomes.get('unknown') ?? 0)
  const all = [...outcomes.values()].reduce((sum, count) => sum + count, 0)
  if (done < all) throw new CommandError(`${all - done} of ${all} are still dead.`)
}

await runCommand({
  usage: USAGE,
  options: {
    workspace: { type: 'string' },
    reason: { type: 'string' },
    operation: { type: 'string' },
    since: { type: 'string' },
  },
  run: async ({ sql, words: [action, which, ...more], values, read, openRedis }) => {
    const filter = filterOf(values)
    const isFiltered = Object.values(filter).some((value) => value !== undefined)
    const wanted = (): DeadFilter => {
      if (which === undefined || (which !== 'all' && isFiltered)) throw new CommandError(USAGE)
      return which === 'all' ? filter : { id: idOf(which) }
    }
    if (more.length > 0 || action === undefined) throw new CommandError(USAGE)
    switch (action) {
      case 'list': {
        if (which !== undefined) throw new CommandError(USAGE)
        const counts = await countDead(sql, filter)
        for (const { reason, submissions } of counts) print(`${String(submissions).padStart(8)}  ${reason}`)
        const total = counts.reduce((sum, { submissions }) => sum + submissions, 0)
        print(`${String(total).padStart(8)}  in all`)
        for (const dead of await listDead(sql, filter, LISTED)) print(lineOf(dead))
        if (total > LISTED) print(`… and ${total - LISTED} more`)
        return
      }
      case 'show': {
        if (which === undefined || isFiltered) throw new CommandError(USAGE)
        const dead = await findDead(sql, idOf(which))
        if (!dead) throw new CommandError(NONE)
        const { job, ...about } = dead
        return print(JSON.stringify({ ...about, job: JSON.parse(job) as unknown }, null, 2))
      }
      case 'replay': {
        const found = await listDead(sql, wanted(), null)
        if (found.length === 0) throw new CommandError(NONE)
        const hashKey = hashKeyFrom(read(['HASH_KEY']).HASH_KEY)
        if (!(await isMadeWith(sql, hashKey))) {
          throw new CommandError('HASH_KEY is not the one that this database was made with.')
        }
        const { redis, prefix } = await openRedis()
        const queues = openQueues(redis, prefix, () => {})
        const outcomes = await replayAll({ sql, redis, prefix, queues, hashKey }, found)
        await closeQueues(queues)
        redis.disconnect()
        return report(outcomes)
      }
      case 'drop': {
        const dropped = await dropDead(sql, wanted())
        if (dropped === 0) throw new CommandError(NONE)
        return print(`${dropped} dropped`)
      }
      default:
        throw new CommandError(USAGE)
    }
  },
})
