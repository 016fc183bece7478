import { asUuid } from '../../contract/identity/keys.ts'
import { OPERATIONS } from '../../contract/submission.ts'
import {
  countDead,
  type DeadEntry,
  type DeadFilter,
  dropDead,
  findDead,
  listDead,
  markReplayed,
  type ReplayRefusal,
} from '../../db/submissions/dead.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { readPosition } from '../../db/submissions/position.ts'
import { createLog, type Log } from '../../queue/log/log.ts'
import { isNearlyFull, readRedisCondition } from '../../queue/redis/redis-condition.ts'
import { createWake, type Wake } from '../../queue/jobs/job-queues.ts'
import { dateOf } from '../option-values.ts'
import { type CommandContext, CommandError, print, runCommand } from '../run-command.ts'

const LISTED = 100

const USAGE = `usage: npm run dead -- list [FILTERS]
       npm run --silent dead -- show ID
       npm run dead -- replay ID
       npm run dead -- replay all [FILTERS]
       npm run dead -- drop ID
       npm run dead -- drop all [FILTERS]

Dead submissions were accepted and cannot be applied.
list    counts them by reason, and lists the first ${LISTED}
show    prints one with its whole content, as JSON
replay  queues them again under the same ids; they do not replace the data of newer submissions
drop    deletes their content for good; the receipts stay

FILTERS: --workspace NAME, --reason REASON (as listed), --since DATE (died since then: 2026-01-31T09:30:00Z),
         --operation ${OPERATIONS.join('|')}`

const NONE = 'No dead submission matches. See: npm run dead -- list'

const LOOK_AT_MEMORY_EVERY = 100

type ReplayStores = { sql: Sql; log: Log; wake: Wake }

/**
 * The submission is queued again, or the reason why not. `being-purged` passes when the purge ends;
 * the other reasons stay.
 */
type ReplayOutcome = 'queued' | ReplayRefusal

const DESCRIBED: Readonly<Record<ReplayOutcome, string>> = {
  queued: 'queued again',
  unknown: 'no longer dead',
  'being-purged': 'being purged',
  'undecided-purge': 'purges that never decided which contacts match: submit each purge again, then drop the dead one',
}

const isFiltered = ({ values }: CommandContext): boolean => Object.values(values).some((value) => value !== undefined)

/** Selects one submission, or all that match the filters. */
const wantedOf = (context: CommandContext, which: string | undefined): DeadFilter => {
  if (which === undefined || (which !== 'all' && isFiltered(context))) throw new CommandError(USAGE)
  return which === 'all' ? filterOf(context.values) : { id: idOf(which) }
}

const filterOf = (values: Readonly<Record<string, string | undefined>>): DeadFilter => {
  const { workspace, reason, operation, since } = values
  const known = OPERATIONS.find((name) => name === operation)
  if (operation !== undefined && known === undefined) {
    throw new CommandError(`--operation must be one of ${OPERATIONS.join(', ')}.`)
  }
  return { workspace, reason, operation: known, since: dateOf('since', since) }
}

const idOf = (word: string): string => {
  const id = asUuid(word)
  if (id === undefined) throw new CommandError('The id of a submission must be a UUID. See: npm run dead -- list')
  return id
}

const list = async ({ sql, values }: CommandContext, word: string | undefined): Promise<void> => {
  if (word !== undefined) throw new CommandError(USAGE)
  const filter = filterOf(values)
  const counts = await countDead(sql, filter)
  for (const { reason, submissions } of counts) print(`${String(submissions).padStart(8)}  ${reason}`)
  const total = counts.reduce((sum, { submissions }) => sum + submissions, 0)
  print(`${String(total).padStart(8)}  in all`)
  for (const dead of await listDead(sql, filter, LISTED)) print(lineOf(dead))
  if (total > LISTED) print(`… and ${total - LISTED} more`)
}

const lineOf = ({ id, workspace, operation, attempts, reason, diedAt, replayedAt }: DeadEntry): string => {
  const again = replayedAt === null ? '' : `  queued again ${replayedAt.toISOString()}`
  return `${id}  ${workspace}  ${operation}  died ${diedAt.toISOString()}  attempts ${attempts}  ${reason}${again}`
}

const show = async (context: CommandContext, id: string | undefined): Promise<void> => {
  if (id === undefined || isFiltered(context)) throw new CommandError(USAGE)
  const dead = await findDead(context.sql, idOf(id))
  if (!dead) throw new CommandError(NONE)
  const { submission, ...about } = dead
  print(JSON.stringify({ ...about, submission: JSON.parse(submission) as unknown }, null, 2))
}

const replayMatching = async (context: CommandContext, which: string | undefined): Promise<void> => {
  const { sql, openQueues } = context
  const found = await listDead(sql, wantedOf(context, which), null)
  if (found.length === 0) throw new CommandError(NONE)
  const { redis, prefix, queues } = await openQueues()
  const stores: ReplayStores = { sql, log: createLog(redis, prefix), wake: createWake(queues) }
  const outcomes = new Map<ReplayOutcome, number>()
  for (const [index, dead] of found.entries()) {
    if (index % LOOK_AT_MEMORY_EVERY === 0 && isNearlyFull(await readRedisCondition(redis))) {
      throw new CommandError(
        `Redis is nearly full. ${outcomes.get('queued') ?? 0} of ${found.length} are queued again. Run the same command again later.`,
      )
    }
    const outcome = await replay(stores, dead)
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  await stores.wake.ended()
  for (const [outcome, count] of outcomes) print(`${count} ${DESCRIBED[outcome]}`)
  const left = found.length - (outcomes.get('queued') ?? 0) - (outcomes.get('unknown') ?? 0)
  if (left > 0) throw new CommandError(`${left} of ${found.length} are still dead, for the reasons above.`)
}

/**
 * Marks a dead submission as queued, and appends it to the log under its id with a new number. If
 * this process dies in between, the maintenance of a worker appends the submission.
 */
const replay = async (
  { sql, log, wake }: ReplayStores,
  { workspaceId, id }: { workspaceId: string; id: string },
): Promise<ReplayOutcome> => {
  const { outcome, submission } = await markReplayed(sql, workspaceId, id)
  if (submission === null) return outcome
  await log.append([submission], await readPosition(sql, workspaceId))
  void wake.wake(workspaceId, { submissions: 1, isDeep: false })
  return outcome
}

const drop = async (context: CommandContext, which: string | undefined): Promise<void> => {
  const dropped = await dropDead(context.sql, wantedOf(context, which))
  if (dropped === 0) throw new CommandError(NONE)
  print(`${dropped} dropped`)
}

await runCommand({
  usage: USAGE,
  options: ['workspace', 'reason', 'operation', 'since'],
  run: { list, show, replay: replayMatching, drop },
})
