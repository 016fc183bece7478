import { countFinished } from '../installation/finished.ts'
import { STEADY_PER_SECOND } from '../bench-config.ts'
import type { Service } from '../installation/service.ts'
import { observeService } from '../observe.ts'
import { type CreateSection, feedbackTarget, loadWith, untilAllFinished, warmUp } from '../rig.ts'

const BYTES_THAT_MATTER = 8 * 1024 ** 2

/**
 * A reader holds a snapshot of the database for minutes while submissions come in. So Postgres
 * keeps the former versions of rows.
 */
export const snapshot: CreateSection = async (rig) => {
  const { config, measures, say } = rig
  const service = await rig.service('snapshot')
  const target = feedbackTarget(service)
  await warmUp(rig, [target])
  await untilAllFinished(rig, service)
  const highestRate = async (): Promise<number> => (await observeService(rig, service)).perSecond
  return {
    round: async () => {
      measures.add('highest rate, no snapshot held', await highestRate())
      const reader = await service.sql.reserve()
      await reader`set idle_in_transaction_session_timeout = 0`
      await reader`begin isolation level repeatable read`
      await reader`select count(*) from workspace_progress`
      try {
        const before = await countFinished(service)
        const held = await loadWith(rig, target, {
          perSecond: STEADY_PER_SECOND,
          seconds: config.snapshotSeconds,
          idempotencyKeys: true,
        })
        const applied = ((await countFinished(service)) - before) / held.seconds
        measures.add('applied at a steady rate, while a snapshot is held', applied)
        await untilAllFinished(rig, service)
        measures.add('highest rate, at the end of a held snapshot', await highestRate())
        const tables = await growthOf(service)
        for (const { name, growth, mb } of tables) say(`  ${name}: ${mb.toFixed(1)} MB, ${growth.toFixed(2)} times`)
        const growths = tables.filter(({ mb }) => mb * 1e6 > BYTES_THAT_MATTER).map(({ growth }) => growth)
        measures.add('size of a table with a held snapshot / of its copy', Math.max(0, ...growths))
      } finally {
        await reader`rollback`
        reader.release()
      }
    },
  }
}

/** The size of each table with its indexes, and its ratio to the size of a fresh copy. */
const growthOf = async ({ sql, prefix }: Service): Promise<{ name: string; mb: number; growth: number }[]> => {
  const tables = await sql<{ name: string; bytes: number }[]>`
    select c.relname as name, pg_total_relation_size(c.oid)::float as bytes
    from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
    where n.nspname = ${prefix} and c.relkind = 'r' order by bytes desc`
  const grown = []
  for (const { name, bytes } of tables) {
    const copy = `copy_of_${name}`
    await sql`create table ${sql(copy)} (like ${sql(name)} including all excluding generated)`
    await sql`insert into ${sql(copy)} select * from ${sql(name)}`
    const [row] = await sql<{ bytes: number }[]>`select pg_total_relation_size(${copy}::regclass)::float as bytes`
    await sql`drop table ${sql(copy)}`
    grown.push({ name, mb: bytes / 1e6, growth: bytes / row!.bytes })
  }
  return grown
}
