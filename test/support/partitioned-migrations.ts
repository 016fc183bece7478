import process from 'node:process'
import { type Migration, readMigrations } from '../../db/schema/migrate.ts'

export const PARTITIONS = 4
const TABLE = /^create table (\w+) \(\n([\s\S]*?)\n\)(?: with \(.*\))?;/gm

/** The tables of a migration for data of workspaces, which have the workspace in their key. */
export const tablesThatGrow = ({ text }: Migration): string[] =>
  [...text.matchAll(TABLE)].filter(([, , body]) => isOfWorkspace(body!)).map(([, name = '']) => name)

/**
 * Migrations with the change of docs/growing.md: every table that grows is partitioned by the
 * workspace.
 */
export const partitionedMigrations = async (): Promise<Migration[]> =>
  (await readMigrations()).map((migration) => ({ ...migration, text: partitioned(migration.text) }))

/**
 * The migrations of the tests: unchanged, or with `TEST_TABLES=partitioned` the partitioned ones.
 */
export const testMigrations = (): Promise<Migration[]> =>
  process.env['TEST_TABLES'] === 'partitioned' ? partitionedMigrations() : readMigrations()

const isOfWorkspace = (body: string): boolean => /primary key \(workspace_id/.test(body)

const partitioned = (text: string): string =>
  text.replaceAll(TABLE, (whole, name: string, body: string) => {
    if (!isOfWorkspace(body)) return whole
    const parts = Array.from(
      { length: PARTITIONS },
      (_, index) =>
        `create table ${name}_${index} partition of ${name} for values with (modulus ${PARTITIONS}, remainder ${index});`,
    )
    return [`create table ${name} (\n${body}\n) partition by hash (workspace_id);`, ...parts].join('\n')
  })
