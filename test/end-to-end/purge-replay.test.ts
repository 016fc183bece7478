import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import type { Service } from '../support/service.ts'
import { operatedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { tablesWith } from '../support/traces.ts'
import { until } from '../support/until.ts'

const CREATED_AT = '2026-01-01T00:00:00Z'

describe('after the restore of a backup', () => {
  let service: Service
  const directory = temporaryDirectory()
  const file = join(directory, 'purged-keys.ndjson')
  before(async () => {
    service = await operatedService()
  })

  const command = (program: string, ...words: string[]) => runCommand(service, program, ...words)

  /** Every table of a backup, with its former rows. */
  const backUp = async () => {
    const tables = await service.sql<{ name: string }[]>`
      select table_name as name from information_schema.tables
      where table_schema = ${service.redisPrefix} and table_type = 'BASE TABLE'
        and table_name not in ('workspace', 'token', 'installation', 'schema_migration', 'schema_functions')`
    const names = tables.map(({ name }) => name)
    for (const name of names)
      await service.sql`create table ${service.sql(`backup_${name}`)} as table ${service.sql(name)}`
    return async () => {
      const statements = await Promise.all(
        names.map(async (name) => {
          const columns = await service.sql<{ name: string }[]>`
            select quote_ident(column_name) as name from information_schema.columns
            where table_schema = ${service.redisPrefix} and table_name = ${name} and is_generated = 'NEVER'`
          const list = columns.map((column) => column.name).join(', ')
          return `truncate ${name}; insert into ${name} (${list}) select ${list} from backup_${name}; drop table backup_${name}`
        }),
      )
      // The statements are one transaction.
      await service.sql.unsafe(statements.join('; '))
    }
  }

  const untilTagged = (tag: string): Promise<unknown> =>
    until(`the conversation is tagged ${tag}`, async () => {
      const [row] = await service.sql<
        { tags: string[] | null }[]
      >`select tags from conversation where external_id = 'shared'`
      return row?.tags?.includes(tag)
    })

  it('purge:replay repeats the purges that the backup lacks, and can be repeated', async () => {
    const contact = {
      id: 'restored-person',
      properties: { $email: 'restored-person@example.com', $name: 'restored-person' },
    }
    await service.submit('/contacts/identify', contact)
    await service.submit('/contacts/identify', { id: 'another', properties: { $name: 'another' } })
    await service.submit('/feedbacks', {
      description: 'restored-person',
      contact: { email: 'restored-person@example.com' },
    })
    await service.submit('/feedbacks', {
      description: 'restored-person',
      isExternalContactId: true,
      contactId: 'restored-person-2',
    })
    await service.submit('/conversations', {
      id: 'shared',
      source: 'chat',
      createdAt: CREATED_AT,
      contacts: [{ id: 'restored-person' }, { id: 'another' }],
      messages: [
        {
          id: '1',
          contactId: 'restored-person',
          incoming: true,
          content: 'The gazebo is broken.',
          createdAt: CREATED_AT,
        },
        { id: '2', contactId: 'another', incoming: true, content: 'The invoice is wrong.', createdAt: CREATED_AT },
      ],
    })
    await untilTagged('gazebo')
    const restore = await backUp()
    const token = service.adminToken
    await service.submit('/contacts/purge', { id: 'restored-person' }, { token })
    await service.submit('/contacts/purge', { id: 'restored-person-2' }, { token })
    const exported = await command('cli/purge/export-command.ts')
    assert.equal(exported.code, 0, exported.stderr)
    assert.ok(!exported.stdout.includes('restored-person'))
    writeFileSync(file, exported.stdout)
    await restore()
    assert.notDeepEqual(await tablesWith(service, 'restored-person'), [])

    const replayed = await command('cli/purge/replay-command.ts', file)
    assert.equal(replayed.code, 0, replayed.stderr)
    assert.match(
      replayed.stdout,
      /^\d+ purged keys read, 1 contacts purged again\.\n1 conversations wait for new tags\.\n$/,
    )
    await untilTagged('invoice')
    assert.deepEqual(await tablesWith(service, 'gazebo'), [])
    assert.deepEqual(await tablesWith(service, 'restored-person'), [])
    assert.deepEqual(await tablesWith(service, 'another'), ['contact', 'contact_external_id'])
    assert.match(
      (await command('cli/purge/replay-command.ts', file)).stdout,
      /, 0 contacts purged again\.\n0 conversations wait/,
    )
  })

  it('purge:replay names the fault in its file', async () => {
    const missing = await command('cli/purge/replay-command.ts', join(directory, 'missing'))
    assert.deepEqual([missing.code, missing.stdout], [1, ''])
    assert.match(missing.stderr, /missing cannot be read/)
    writeFileSync(file, '\n{"a":1}\n')
    const bad = await command('cli/purge/replay-command.ts', file)
    assert.match(bad.stderr, /Line 2 of .* is not a line of purge:export/)
    assert.equal((await command('cli/purge/replay-command.ts')).code, 1)
  })
})
